const unitNames = { s: 'seconds', m: 'minutes', h: 'hours', d: 'days', w: 'weeks', mo: 'months' } as const
type Unit = keyof typeof unitNames

const parts = (text: string): { amount: number; unit: Unit } => {
  const [, amount, unit] = /^(\d+)(\D+)$/.exec(text) ?? []
  return { amount: Number(amount), unit: unit as Unit }
}

/** Returns a PostgreSQL interval: `30d` becomes `30 days`. The contract must have validated the text. */
export function intervalOf(text: string): string {
  const { amount, unit } = parts(text)
  return `${amount} ${unitNames[unit]}`
}

const secondsOf: Readonly<Record<Unit, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800, mo: 28 * 86_400 }
const maxMonth = 31 * 86_400

/** True if `one` is never shorter than `other`. A month has 28 to 31 days; the other units have a fixed length. */
export function isAtLeastAsLong(one: string, other: string): boolean {
  const [mine, theirs] = [parts(one), parts(other)]
  if (mine.unit === theirs.unit) return mine.amount >= theirs.amount
  const maxSeconds = theirs.unit === 'mo' ? maxMonth : secondsOf[theirs.unit]
  return mine.amount * secondsOf[mine.unit] >= theirs.amount * maxSeconds
}
