/** Returns the name of a line in a provider batch, which is unique at the provider. Providers accept 64 characters. */
export const lineName = (id: string, seq: number): string => `${id}-${seq}`

/** Returns the line of a name; undefined for one of another batch. */
export function seqOfName(id: string, name: string): number | undefined {
  if (!name.startsWith(`${id}-`)) return undefined
  const seq = Number(name.slice(id.length + 1))
  return Number.isSafeInteger(seq) ? seq : undefined
}
