import { randomUUID } from 'node:crypto'
import type { Notifications } from '../../db/notifications.ts'
import type { LoadReport } from './pick.ts'

/** Channel to the other processes on the same database. */
export type HintChannel = Pick<Notifications, 'on' | 'send'>

interface Listeners {
  onCooldown(id: string, cooldownMs: number, errorClass: string): void
  onEnded(id: string): void
  onLoad(id: string, calls: number, tokens: number): void
}

/** Reports cooldowns and load of deployments to other processes. Losing a hint is harmless. */
export interface Hints {
  cooled(id: string, cooldownMs: number, errorClass: string): void
  /** A person has ended the cooldown of a deployment. */
  ended(id: string): void
  loaded(reports: readonly LoadReport[]): void
}

const cooldownChannel = 'switchyard_cooldown'
const endChannel = 'switchyard_cooldown_end'
const loadChannel = 'switchyard_load'
/** Ids have up to about 200 characters; a notification has a limit of 8,000 bytes. */
const reportsPerHint = 30

/** Creates the hints. Times are sent as durations, since clocks differ between processes. Own hints are ignored. */
export function createHints(channel: HintChannel, { onCooldown, onEnded, onLoad }: Listeners): Hints {
  const self = randomUUID()
  const listen = (name: string, take: (values: readonly unknown[]) => void): void =>
    channel.on(name, payload => {
      const [from, ...values] = parsedList(payload)
      if (from !== self) take(values)
    })
  listen(cooldownChannel, ([id, cooldownMs, errorClass]) => {
    if (isCount(cooldownMs) && cooldownMs > 0) onCooldown(String(id), cooldownMs, String(errorClass).slice(0, 60))
  })
  listen(endChannel, ([id]) => onEnded(String(id)))
  listen(loadChannel, reports => {
    for (const item of reports) {
      const [id, calls, tokens] = Array.isArray(item) ? item : []
      if (isCount(calls) && isCount(tokens)) onLoad(String(id), calls, tokens)
    }
  })
  return {
    cooled: (id, cooldownMs, errorClass) =>
      channel.send(cooldownChannel, JSON.stringify([self, id, Math.round(cooldownMs), errorClass])),
    ended: id => channel.send(endChannel, JSON.stringify([self, id])),
    loaded(reports) {
      for (let at = 0; at < reports.length; at += reportsPerHint)
        channel.send(loadChannel, JSON.stringify([self, ...reports.slice(at, at + reportsPerHint)]))
    },
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

function parsedList(payload: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(payload)
    return Array.isArray(value) ? value : []
  } catch {
    // Any client of the database may send on a channel.
    return []
  }
}
