import { AppError } from '../../platform/errors.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import { payersOf } from '../core/booking.ts'
import { type Call, isCount, type Outcome, type Sink } from '../core/call.ts'
import type { Gateway } from '../gateway.ts'
import { AnswerRecord, maxBytes } from './answer-record.ts'
import type { BodyRecords } from './records.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'call' | 'deployment' | 'logsBodies'>
  readonly records: Pick<BodyRecords, 'record'>
}

/**
 * Creates the recorder of model calls. Records the bodies of a call where its key or its model has `log_bodies`. Does
 * not change or delay the answer.
 */
export function createRecordedCalls({ gateway, records }: Deps): Pick<Gateway, 'call'> {
  const isOn = (untilMs: number | undefined) => untilMs !== undefined && Date.now() < untilMs
  const wantsRecord = (id: string | undefined): boolean =>
    id !== undefined && isOn(gateway.deployment(id)?.logBodiesUntilMs)

  return {
    async call(call: Call, sink: Sink): Promise<Outcome> {
      const isKeys = isOn(call.caller.key?.logBodiesUntilMs)
      if (isCount(call.kind) || !(isKeys || gateway.logsBodies())) return gateway.call(call, sink)
      const answer = new AnswerRecord(sink)
      try {
        return await gateway.call(call, answer)
      } catch (error) {
        if (error instanceof AppError) answer.rejected(error)
        throw error
      } finally {
        if (isKeys || wantsRecord(answer.deployment))
          records.record(rowOf(call), { request: requestOf(call), response: answer.recorded() })
      }
    },
  }
}

function requestOf({ body, headers }: Call) {
  const [type = null] = [headers['content-type']].flat()
  const isForm = type !== null && /^multipart\//i.test(type)
  return {
    content_type: type,
    body: isForm ? null : beginningOf(body),
    truncated: !isForm && body.length > maxBytes,
  }
}

/** Copies the beginning of a long body: a subarray would retain the whole body until the record is written. */
const beginningOf = (body: Buffer): Buffer => (body.length > maxBytes ? Buffer.from(body.subarray(0, maxBytes)) : body)

const modelKey = keysOf(['model'])

function rowOf(call: Call) {
  const { requestId, caller, address, body } = call
  const payers = payersOf(call)
  const span = address ? undefined : ownMembers(body, modelKey)?.values[0]
  const named: unknown = span && JSON.parse(body.toString('utf8', span.start, span.end))
  return {
    request_id: requestId,
    principal: caller.principal,
    api_key_id: payers?.key ?? null,
    owner_id: payers?.owner ?? null,
    model: (address?.model ?? (typeof named === 'string' ? named : ''))
      .replaceAll('\0', '')
      .slice(0, 300)
      .toWellFormed(),
  }
}
