import { isRecord, type Json, recordOf } from '../../platform/json.ts'
import type { UpstreamFault } from './wire.ts'

/** The words of an error, wherever one of the formats keeps them: in `error`, or beside it. */
export function faultOf(data: unknown): UpstreamFault {
  const body = recordOf(data)
  if (typeof body['error'] === 'string') return { message: body['error'] }
  const error = isRecord(body['error']) ? body['error'] : body
  const word = [error['code'], error['type']].find(value => typeof value === 'string' && value !== 'error')
  return {
    message: typeof error['message'] === 'string' ? error['message'] : '',
    word: typeof word === 'string' ? word : undefined,
  }
}

/** Why a response ended: its reason when it is not complete, else its status. */
export function stopReasonOf({ status, incomplete_details: details }: Json): string | undefined {
  const { reason } = recordOf(details)
  if (typeof reason === 'string') return reason
  return typeof status === 'string' ? status : undefined
}
