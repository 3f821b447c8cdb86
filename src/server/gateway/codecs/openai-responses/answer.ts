import { isRecord } from '../../../platform/json.ts'
import type { CodecContext } from '../../translated/codec.ts'
import type { ModelEvent } from '../../translated/model-event.ts'
import { AnswerReader } from './answer-reader.ts'

/** The events of a response that came whole. */
export function answerEvents(body: unknown, context: CodecContext): readonly ModelEvent[] {
  const reader = new AnswerReader(context)
  if (!isRecord(body)) reader.fail({ message: 'the upstream sent an answer that cannot be read' })
  else if (isRecord(body['error']) || body['status'] === 'failed') reader.fail(body)
  else if (!Array.isArray(body['output'])) reader.fail({ message: 'the upstream sent an answer without output' })
  else if (isEnded(body['status'])) reader.finish(body)
  else reader.fail({ message: 'the upstream sent an answer that is not complete', usage: body['usage'] })
  return reader.take()
}

const isEnded = (status: unknown): boolean =>
  status === undefined || status === null || status === 'completed' || status === 'incomplete'
