import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from '../support/service/service.ts'

/** The longest that a hostile request may take, and the longest that `/health/live` may take beside it. */
const answerMs = 1_000
const liveMs = 100

/**
 * Runs `attack` three times and measures it, with the slowest `/health/live` beside it. The medians of both must stay
 * within 1 s and 100 ms.
 */
export async function answersInTime(service: Pick<Service, 'url'>, attack: () => Promise<unknown>): Promise<void> {
  const rounds: { readonly answer: number; readonly live: number }[] = []
  for (let round = 0; round < 3; round++) rounds.push(await measured(service, attack))
  const answer = median(rounds.map(each => each.answer))
  const live = median(rounds.map(each => each.live))
  assert.ok(answer <= answerMs, `the answer took ${Math.round(answer)} ms, at most ${answerMs} ms are allowed`)
  assert.ok(live <= liveMs, `/health/live took ${Math.round(live)} ms beside it, at most ${liveMs} ms are allowed`)
}

async function measured({ url }: Pick<Service, 'url'>, attack: () => Promise<unknown>) {
  let isOver = false
  let live = 0
  const watch = async () => {
    while (!isOver) {
      const startedAt = performance.now()
      await (await fetch(`${url}/health/live`)).text()
      live = Math.max(live, performance.now() - startedAt)
      await sleep(5)
    }
  }
  const watching = watch()
  const startedAt = performance.now()
  await attack().finally(() => {
    isOver = true
  })
  const answer = performance.now() - startedAt
  await watching
  return { answer, live }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.POSITIVE_INFINITY
}
