const unitsMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Returns the milliseconds of a duration such as `90s`, `12h` or `30d`; undefined for other text. */
export function durationMs(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,9})(s|m|h|d)$/.exec(text) ?? []
  return unit === undefined ? undefined : Number(count) * unitsMs[unit as keyof typeof unitsMs]
}

/** Returns the milliseconds of a response cache TTL; undefined unless it is a duration of 1 s to 30 d. */
export function cacheTtlMs(text: string): number | undefined {
  const ms = durationMs(text)
  return ms !== undefined && ms >= unitsMs.s && ms <= 30 * unitsMs.d ? ms : undefined
}
