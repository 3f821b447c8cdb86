import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dueTicks } from './due-ticks.ts'

const hourly = { cron: '0 * * * *', timezone: 'UTC', missed: 'once', missed_limit: 3 } as const
const at = (time: string) => new Date(`2026-05-05T${time}Z`)
const shown = (schedule: Parameters<typeof dueTicks>[0], first: string, now: string) => {
  const { run, skipped, next } = dueTicks(schedule, at(first), at(now))
  return {
    run: run.map(({ dueAt, cause }) => `${cause} ${dueAt.toISOString().slice(11, 16)}`),
    skipped: skipped?.dueAt.toISOString().slice(11, 16),
    next: next?.toISOString().slice(11, 16),
  }
}

test('a tick handled within a minute runs, whatever `missed` is', () => {
  for (const missed of ['skip', 'once', 'all'] as const) {
    assert.deepEqual(shown({ ...hourly, missed }, '10:00:00', '10:00:59'), {
      run: ['tick 10:00'],
      skipped: undefined,
      next: '11:00',
    })
  }
})

const cases = [
  ['skip', '10:30:00', [], '06:00'],
  ['once', '10:30:00', ['missed 10:00'], '06:00'],
  ['all', '10:30:00', ['missed 08:00', 'missed 09:00', 'missed 10:00'], '06:00'],
  ['skip', '10:00:30', ['tick 10:00'], '06:00'],
  ['once', '10:00:30', ['tick 10:00'], '06:00'],
  ['all', '10:00:30', ['missed 07:00', 'missed 08:00', 'missed 09:00', 'tick 10:00'], '06:00'],
  ['once', '06:30:00', ['missed 06:00'], undefined],
  ['all', '07:30:00', ['missed 06:00', 'missed 07:00'], undefined],
  ['skip', '06:30:00', [], '06:00'],
] as const
for (const [missed, now, run, skipped] of cases) {
  test(`missed "${missed}" of an hourly schedule that is due since 06:00, at ${now}`, () => {
    const { next: _next, ...found } = shown({ ...hourly, missed }, '06:00:00', now)
    assert.deepEqual(found, { run, skipped })
  })
}

test('years of a schedule of every minute are not computed tick by tick', () => {
  let reads = 0
  const everyMinute = {
    // Read once per computed tick.
    get cron() {
      reads++
      return '* * * * *'
    },
    timezone: 'America/New_York',
    missed: 'all',
    missed_limit: 100,
  } as const
  const { run, skipped } = dueTicks(everyMinute, new Date('2016-01-01T00:00:00Z'), at('12:00:00'))
  assert.equal(run.length, 102)
  assert.equal(skipped?.dueAt.toISOString(), '2016-01-01T00:00:00.000Z')
  assert.ok(reads >= run.length && reads < 1_000, `${reads} of 5 million ticks`)
})

test('after years of absence the last missed tick of a yearly schedule runs', () => {
  const yearly = { cron: '0 0 1 1 *', timezone: 'UTC', missed: 'once', missed_limit: 1 } as const
  const { run, next } = dueTicks(yearly, new Date('2020-01-01T00:00:00Z'), at('12:00:00'))
  assert.deepEqual(
    run.map(({ dueAt }) => dueAt.toISOString()),
    ['2026-01-01T00:00:00.000Z'],
  )
  assert.equal(next?.toISOString(), '2027-01-01T00:00:00.000Z')
})
