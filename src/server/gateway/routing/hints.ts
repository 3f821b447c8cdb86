import { randomUUID } from 'node:crypto'
import type { Notifications } from '../../db/notifications.ts'
import type { LoadNews } from './pick.ts'

/** The door to the other processes on the same database. */
export type HintChannel = Pick<Notifications, 'on' | 'send'>

interface Listeners {
  onCooldown(id: string, restMs: number, errorClass: string): void
  onLoad(id: string, calls: number, tokens: number): void
}

/** Tells other processes what this one has learned about deployments. All of it may be lost without harm. */
export interface Hints {
  cooled(id: string, restMs: number, errorClass: string): void
  loaded(news: readonly LoadNews[]): void
}

const cooldownChannel = 'switchyard_cooldown'
const loadChannel = 'switchyard_load'
/** Ids have some 200 characters at most, a notification just under 8,000 bytes. */
const newsPerHint = 30

/** Times go as what is left of them: the clocks of two processes need not agree. Own hints are not heard. */
export function createHints(channel: HintChannel, { onCooldown, onLoad }: Listeners): Hints {
  const self = randomUUID()
  const listen = (name: string, take: (values: readonly unknown[]) => void): void =>
    channel.on(name, payload => {
      const [from, ...values] = parsedList(payload)
      if (from !== self) take(values)
    })
  listen(cooldownChannel, ([id, restMs, errorClass]) => {
    if (isCount(restMs) && restMs > 0) onCooldown(String(id), restMs, String(errorClass).slice(0, 60))
  })
  listen(loadChannel, news => {
    for (const item of news) {
      const [id, calls, tokens] = Array.isArray(item) ? item : []
      if (isCount(calls) && isCount(tokens)) onLoad(String(id), calls, tokens)
    }
  })
  return {
    cooled: (id, restMs, errorClass) =>
      channel.send(cooldownChannel, JSON.stringify([self, id, Math.round(restMs), errorClass])),
    loaded(news) {
      for (let at = 0; at < news.length; at += newsPerHint)
        channel.send(loadChannel, JSON.stringify([self, ...news.slice(at, at + newsPerHint)]))
    },
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

function parsedList(payload: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(payload)
    return Array.isArray(value) ? value : []
  } catch {
    // Anybody who may connect to the database may send on a channel.
    return []
  }
}
