import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seeded } from '../../test/faults/random.ts'
import { type Installation, simulate } from './simulation.ts'

const one: Installation = {
  processes: 1,
  sessionsEach: 50,
  processMs: 1,
  databaseMs: 1,
  databaseCores: 2,
  commits: 3,
  flushMs: 1,
  modelMs: 500,
}
const played = (changes: Partial<Installation>) => {
  const { chance } = seeded(7)
  return simulate({ ...one, ...changes }, chance)
}
const isAbout = (value: number, expected: number) =>
  assert.ok(Math.abs(value - expected) < expected * 0.1, `${value} is not about ${expected}`)

test('while nothing is full, the model determines the number of turns', () => {
  const { turnsPerSecond, processBusy } = played({})
  isAbout(turnsPerSecond, 50 / 0.506)
  isAbout(processBusy, 0.099)
})

test('a process that is full gives as many turns as it has time for, and twice as many processes give twice as many', () => {
  isAbout(played({ modelMs: 5 }).turnsPerSecond, 1_000)
  isAbout(played({ modelMs: 5, processes: 2, databaseCores: 8 }).turnsPerSecond, 2_000)
})

test('a database that is full gives no more, whatever the number of processes', () => {
  for (const processes of [4, 8]) {
    const { turnsPerSecond, databaseBusy } = played({ modelMs: 5, processes })
    isAbout(turnsPerSecond, 2_000)
    assert.ok(databaseBusy > 0.95)
  }
})

test('flushes are shared: a slow disk costs time and not turns, while others have to wait for the model', () => {
  const { turnsPerSecond, acceptedP50 } = played({ flushMs: 10 })
  isAbout(turnsPerSecond, 50 / 0.545)
  assert.ok(acceptedP50 >= 10 && acceptedP50 < 25, `${acceptedP50}`)
})
