import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../platform/errors.ts'
import { checkCron, nextRun } from './next-run.ts'

/** Returns the next runs after a time, in UTC without seconds. */
function runs(cron: string, timezone: string, after: string, count: number): string[] {
  const found: string[] = []
  for (let at: Date | undefined = new Date(after); found.length < count; ) {
    at = nextRun({ cron, timezone }, at)
    if (!at) break
    found.push(at.toISOString().replace(':00.000Z', 'Z'))
  }
  return found
}

/** F31, row Time: a skipped local time is due at the next valid minute; a repeated one once. */
const table: readonly (readonly [
  guarantee: string,
  cron: string,
  zone: string,
  after: string,
  due: readonly string[],
])[] = [
  [
    'New York, clocks go forward: 02:30 does not exist and is due at 03:00',
    '30 2 * * *',
    'America/New_York',
    '2027-03-13T08:00:00Z',
    ['2027-03-14T07:00Z', '2027-03-15T06:30Z'],
  ],
  [
    'New York, clocks go forward: 02:00 and 02:30 are due together at 03:00, once',
    '0,30 2,3 * * *',
    'America/New_York',
    '2027-03-14T05:00:00Z',
    ['2027-03-14T07:00Z', '2027-03-14T07:30Z', '2027-03-15T06:00Z'],
  ],
  [
    'New York, clocks go forward: every second hour',
    '0 */2 * * *',
    'America/New_York',
    '2027-03-14T04:59:00Z',
    ['2027-03-14T05:00Z', '2027-03-14T07:00Z', '2027-03-14T08:00Z', '2027-03-14T10:00Z'],
  ],
  [
    'New York, clocks go back: 01:30 is shown twice and due once',
    '30 1 * * *',
    'America/New_York',
    '2026-10-31T07:00:00Z',
    ['2026-11-01T05:30Z', '2026-11-02T06:30Z'],
  ],
  [
    'New York, clocks go back: what is made between the two 01:30 waits for the next day',
    '30 1 * * *',
    'America/New_York',
    '2026-11-01T05:45:00Z',
    ['2026-11-02T06:30Z'],
  ],
  [
    'New York, clocks go back: what is made in the second 01:xx waits for the next day',
    '30 1 * * *',
    'America/New_York',
    '2026-11-01T06:15:00Z',
    ['2026-11-02T06:30Z'],
  ],
  [
    'New York, clocks go back: the first time after the hour that is shown twice',
    '0 2 * * *',
    'America/New_York',
    '2026-11-01T04:00:00Z',
    ['2026-11-01T07:00Z', '2026-11-02T07:00Z'],
  ],
  [
    'New York, clocks go back: half hours of fixed hours are due once',
    '*/30 1 * * *',
    'America/New_York',
    '2026-11-01T04:30:00Z',
    ['2026-11-01T05:00Z', '2026-11-01T05:30Z', '2026-11-02T06:00Z'],
  ],
  [
    'New York, clocks go back: every half hour stays every half hour',
    '*/30 * * * *',
    'America/New_York',
    '2026-11-01T04:30:00Z',
    ['2026-11-01T05:00Z', '2026-11-01T05:30Z', '2026-11-01T06:00Z', '2026-11-01T06:30Z', '2026-11-01T07:00Z'],
  ],
  [
    'New York, clocks go forward: every hour stays every hour',
    '30 * * * *',
    'America/New_York',
    '2027-03-14T05:00:00Z',
    ['2027-03-14T05:30Z', '2027-03-14T06:30Z', '2027-03-14T07:30Z'],
  ],
  [
    'Lord Howe, forward by 30 minutes: 02:15 is due at 02:30',
    '15 2 * * *',
    'Australia/Lord_Howe',
    '2026-10-02T16:00:00Z',
    ['2026-10-03T15:30Z', '2026-10-04T15:15Z'],
  ],
  [
    'Lord Howe, back by 30 minutes: 01:45 is shown twice and due once',
    '45 1 * * *',
    'Australia/Lord_Howe',
    '2027-04-02T15:00:00Z',
    ['2027-04-03T14:45Z', '2027-04-04T15:15Z'],
  ],
  [
    'Lord Howe, back by 30 minutes: every quarter of an hour stays',
    '*/15 * * * *',
    'Australia/Lord_Howe',
    '2027-04-03T14:30:00Z',
    ['2027-04-03T14:45Z', '2027-04-03T15:00Z', '2027-04-03T15:15Z', '2027-04-03T15:30Z'],
  ],
  [
    'Cairo, forward at midnight: 00:00 is due at 01:00 of the same day',
    '0 0 * * *',
    'Africa/Cairo',
    '2026-04-22T22:00:00Z',
    ['2026-04-23T22:00Z', '2026-04-24T21:00Z'],
  ],
  [
    'Cairo, forward at midnight: a pattern for that day alone is due on it',
    '30 0 24 4 *',
    'Africa/Cairo',
    '2026-04-01T00:00:00Z',
    ['2026-04-23T22:00Z', '2027-04-23T22:30Z'],
  ],
  [
    'Cairo, forward at midnight: every hour of that day begins with its first',
    '30 * 24 4 *',
    'Africa/Cairo',
    '2026-04-01T00:00:00Z',
    ['2026-04-23T22:30Z', '2026-04-23T23:30Z'],
  ],
  [
    'Cairo, back at midnight: 23:30 is shown twice and due once',
    '30 23 * * *',
    'Africa/Cairo',
    '2026-10-29T12:00:00Z',
    ['2026-10-29T20:30Z', '2026-10-30T21:30Z'],
  ],
  [
    'Kathmandu is 5 hours and 45 minutes ahead',
    '0 9 * * *',
    'Asia/Kathmandu',
    '2026-11-01T00:00:00Z',
    ['2026-11-01T03:15Z', '2026-11-02T03:15Z'],
  ],
  [
    'Apia is 13 hours ahead, all year',
    '0 9 * * *',
    'Pacific/Apia',
    '2026-11-01T12:00:00Z',
    ['2026-11-01T20:00Z', '2026-11-02T20:00Z'],
  ],
  [
    'Apia, 2011: the day that was left out is due at the first minute after it',
    '0 9 * * *',
    'Pacific/Apia',
    '2011-12-28T20:00:00Z',
    ['2011-12-29T19:00Z', '2011-12-30T10:00Z', '2011-12-30T19:00Z'],
  ],
  [
    'a leap day is due every four years',
    '0 12 29 2 *',
    'Europe/Berlin',
    '2026-01-01T00:00:00Z',
    ['2028-02-29T11:00Z', '2032-02-29T11:00Z'],
  ],
  [
    'a leap day is left out in 2100',
    '0 0 29 2 *',
    'UTC',
    '2096-01-01T00:00:00Z',
    ['2096-02-29T00:00Z', '2104-02-29T00:00Z'],
  ],
  [
    'a day of the month or a day of the week, when both are named',
    '0 0 13 * FRI',
    'UTC',
    '2026-11-01T00:00:00Z',
    ['2026-11-06T00:00Z', '2026-11-13T00:00Z', '2026-11-20T00:00Z'],
  ],
  [
    'the 31st is left out in shorter months',
    '0 0 31 * *',
    'UTC',
    '2026-08-31T00:00:00Z',
    ['2026-10-31T00:00Z', '2026-12-31T00:00Z'],
  ],
]
for (const [guarantee, cron, zone, after, due] of table) {
  test(`F31: ${guarantee}`, () => assert.deepEqual(runs(cron, zone, after, due.length), due))
}

const rejected: readonly (readonly [cron: string, message: RegExp])[] = [
  ['60 * * * *', /^cron: minute must be 0 to 59, not "60"$/],
  ['* 24 * * *', /^cron: hour must be .*, not "24"/],
  ['0 0 0 * *', /^cron: day of the month must be .*, not "0"/],
  ['0 0 * 13 *', /^cron: month must be .*, not "13"/],
  ['0 0 * * 8', /^cron: day of the week must be .*, not "8"/],
  ['*/0 * * * *', /^cron: minute must be/],
  ['5-1 * * * *', /^cron: minute must be .*, not "5-1"/],
  ['0,,5 * * * *', /^cron: minute must be/],
  ['a b c d e', /^cron: minute must be .*, not "a"/],
  ['１ * * * *', /^cron: minute must be/],
  ['* * * *', /^cron must have five fields/],
  ['* * * * * *', /^cron must have five fields/],
  ['@daily', /^cron must have five fields/],
  ['', /^cron must have five fields/],
  ['0 0 30 2 *', /^cron "0 0 30 2 [*]" never fires$/],
  ['0 0 31 2,4,6,9,11 *', /never fires/],
]
for (const [cron, message] of rejected) {
  test(`the pattern ${JSON.stringify(cron)} is rejected with the name of the field`, () => {
    assert.throws(() => checkCron(cron), { name: AppError.name, code: 'invalid_request', message })
  })
}

test('a pattern is stored with one space between its fields', () => {
  assert.equal(checkCron('  0   9 *\t* MON-FRI '), '0 9 * * MON-FRI')
})

/** Local times of the zone, minute by minute. */
function minutes(timezone: string, from: number, count: number): { readonly time: number; readonly wall: string }[] {
  const format = new Intl.DateTimeFormat('sv', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' })
  return Array.from({ length: count }, (_, at) => {
    const time = from + at * 60_000
    return { time, wall: format.format(time) }
  })
}

/** Each local time once, at its first occurrence; skipped ones right after the gap. Computed minute by minute. */
function expectedRuns(hour: number, minute: number, shown: readonly { time: number; wall: string }[]): number[] {
  const wanted = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
  const days = [...new Set(shown.map(({ wall }) => wall.slice(0, 10)))].slice(1, -1)
  return days.map(day => shown.find(({ wall }) => wall >= `${day} ${wanted}`)?.time ?? 0)
}

test('F31: around every clock change a fixed time is due once, at its first occurrence or right after the gap', () => {
  const changes = [
    ['America/New_York', '2026-10-30T00:00Z'],
    ['America/New_York', '2027-03-12T00:00Z'],
    ['Australia/Lord_Howe', '2026-10-01T00:00Z'],
    ['Australia/Lord_Howe', '2027-04-01T00:00Z'],
    ['Africa/Cairo', '2026-04-21T00:00Z'],
    ['Africa/Cairo', '2026-10-27T00:00Z'],
    ['America/Santiago', '2026-09-04T00:00Z'],
    ['Europe/London', '2026-10-23T00:00Z'],
    ['Africa/Casablanca', '2026-02-13T00:00Z'],
  ] as const
  const shownIn = new Map(changes.map(([zone, from]) => [from + zone, minutes(zone, Date.parse(from), 5 * 1_440)]))
  fc.assert(
    fc.property(
      fc.constantFrom(...changes),
      fc.integer({ min: 0, max: 23 }),
      fc.integer({ min: 0, max: 59 }),
      fc.integer({ min: 0, max: 5 * 1_440 - 1 }),
      ([timezone, from], hour, minute, startAt) => {
        const shown = shownIn.get(from + timezone) ?? []
        const start = shown[startAt]?.time ?? 0
        const expected = expectedRuns(hour, minute, shown)
        const [first = 0, last = 0] = [expected[0], expected.at(-1)]
        const found: number[] = []
        for (let at = start; at < last; ) {
          at = nextRun({ cron: `${minute} ${hour} * * *`, timezone }, new Date(at))?.getTime() ?? last
          if (at >= first) found.push(at)
        }
        assert.deepEqual(
          found,
          expected.filter(time => time > start),
        )
      },
    ),
    { numRuns: 300 },
  )
})

test('F31: a pattern of every minute is due every minute across clock changes', () => {
  for (const [timezone, from] of [
    ['America/New_York', '2026-11-01T04:50:00Z'],
    ['America/New_York', '2027-03-14T06:50:00Z'],
    ['Australia/Lord_Howe', '2027-04-03T14:20:00Z'],
    ['Africa/Cairo', '2026-04-23T21:50:00Z'],
  ] as const) {
    let at = new Date(from)
    for (let count = 0; count < 150; count++) {
      const next = nextRun({ cron: '* * * * *', timezone }, at)
      assert.equal(next?.getTime(), at.getTime() + 60_000, `${timezone} after ${at.toISOString()}`)
      at = next
    }
  }
})
