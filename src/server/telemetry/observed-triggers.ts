import { AppError } from '../platform/errors.ts'
import type { RunState, ScheduleStore } from '../schedules/store.ts'
import type { Send } from '../webhook-endpoints/send.ts'
import type { Exchange } from '../webhook-replies/exchange.ts'
import type { DeliveryCounts } from '../webhooks/delivery-counts.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import { observedSweep } from './observed.ts'
import { noTelemetry, type Telemetry } from './telemetry.ts'

// As in `observed.ts`, each function returns what it was given while telemetry is off.

/** Reports every received webhook. */
export function observedWebhooks(webhooks: Webhooks, telemetry: Telemetry): Webhooks {
  if (telemetry === noTelemetry) return webhooks
  return {
    ...webhooks,
    async receive(...given) {
      try {
        const answer = await webhooks.receive(...given)
        telemetry.delivered('webhook', 'challenge' in answer ? 'challenge' : answer.status)
        return answer
      } catch (error) {
        telemetry.delivered('webhook', error instanceof AppError ? error.code : 'internal')
        throw error
      }
    },
  }
}

/** Reports requests of senders that are rejected before a webhook is received, and repeated ones. */
export function observedCounts(counts: DeliveryCounts, telemetry: Telemetry): DeliveryCounts {
  if (telemetry === noTelemetry) return counts
  return {
    ...counts,
    add(agentId, kind) {
      counts.add(agentId, kind)
      telemetry.delivered('webhook', kind)
    },
  }
}

/** Reports every attempt to send an event to an endpoint. */
export function observedSend(send: Send, telemetry: Telemetry): Send {
  if (telemetry === noTelemetry) return send
  return async message => {
    const sending = await send(message)
    telemetry.delivered('endpoint', sending.isDelivered ? 'delivered' : 'failed')
    return sending
  }
}

/** Reports every request that replies to a webhook. */
export function observedExchange(exchange: Exchange, telemetry: Telemetry): Exchange {
  if (telemetry === noTelemetry) return exchange
  return async call => {
    const exchanged = await exchange(call)
    const isDelivered = exchanged.status !== null && exchanged.status < 300
    telemetry.delivered('reply', isDelivered ? 'delivered' : 'failed')
    return exchanged
  }
}

/** Reports the polls of schedules and the runs that they settle. */
export function observedSchedules(store: ScheduleStore, telemetry: Telemetry): ScheduleStore {
  if (telemetry === noTelemetry) return store
  return {
    ...store,
    openWork: observedSweep('schedules', store.openWork, telemetry),
    async settleRun(on, id, run: RunState) {
      await store.settleRun(on, id, run)
      telemetry.ticked(run.state)
    },
  }
}
