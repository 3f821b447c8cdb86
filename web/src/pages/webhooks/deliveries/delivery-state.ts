import { deliveryIdHeaders } from '../../../../../src/contract/webhook-presets.ts'
import type { Delivery, DeliveryStatus } from '../../../../../src/contract/webhooks.ts'
import type { StateName } from '../../../theme.ts'

interface Shown {
  readonly state: StateName
  readonly word: string
}

export const deliveryStates: Readonly<Record<DeliveryStatus, Shown>> = {
  accepted: { state: 'done', word: 'accepted' },
  processing: { state: 'running', word: 'processing' },
  skipped: { state: 'stopped', word: 'skipped' },
  failed: { state: 'failed', word: 'refused' },
}

export const kinds: Readonly<Record<Delivery['kind'], string>> = {
  webhook: 'sender',
  replay: 'replay',
  test: 'test',
}

/** Returns the header that the delivery id came from; undefined when the service made the id. */
export function idHeaderOf({ headers, request_id }: Pick<Delivery, 'headers' | 'request_id'>): string | undefined {
  const named = deliveryIdHeaders.find(name => headers[name] === request_id)
  return named ?? Object.keys(headers).find(name => headers[name] === request_id)
}

/** Returns the time from receipt to the stored session in milliseconds; undefined while it is processed. */
export const latencyOf = ({ received_at, finished_at }: Pick<Delivery, 'received_at' | 'finished_at'>) =>
  finished_at === null ? undefined : Math.max(0, Date.parse(finished_at) - Date.parse(received_at))
