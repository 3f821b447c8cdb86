import { jsonOr, recordOf } from '../platform/json.ts'
import { attributeOf, attributesJson, nanoseconds, valueJson } from '../platform/otlp.ts'
import type { LogRecord } from './sink.ts'

/** Names of the OpenTelemetry conventions for generative AI, by our names. */
const conventional: Readonly<Record<string, string>> = {
  model: 'gen_ai.request.model',
  upstream_model: 'gen_ai.response.model',
  provider: 'gen_ai.provider.name',
  input_tokens: 'gen_ai.usage.input_tokens',
  output_tokens: 'gen_ai.usage.output_tokens',
  session_id: 'gen_ai.conversation.id',
  agent_id: 'gen_ai.agent.id',
}

const resource = `{"attributes":[${attributesJson({ 'service.name': 'switchyard' })}]}`

/** Returns an export request of OTLP logs in its JSON encoding. Source: OpenTelemetry protocol, logs. */
export function otlpBody(records: readonly LogRecord[]): string {
  const ofScope = `{"scope":{"name":"switchyard"},"logRecords":[${records.map(recordJson).join(',')}]}`
  return `{"resourceLogs":[{"resource":${resource},"scopeLogs":[${ofScope}]}]}`
}

/** Returns how many records a response rejects; 0 for a response that is not readable. */
export function rejectedBy(text: string): number {
  const { partialSuccess } = recordOf(jsonOr(text, undefined))
  const count = Number(recordOf(partialSuccess)['rejectedLogRecords'] ?? 0)
  return Number.isFinite(count) ? count : 0
}

function recordJson(record: LogRecord): string {
  const { id, type, time, ...fields } = record
  const at = nanoseconds(Date.parse(time))
  const given = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
  const named = given.map(([name, value]) => [conventional[name] ?? `switchyard.${name}`, attributeOf(value)] as const)
  const { number, text } = severityOf(record)
  const times = `"timeUnixNano":"${at}","observedTimeUnixNano":"${at}"`
  const kind = `"severityNumber":${number},"severityText":"${text}","eventName":"switchyard.${type}"`
  const attributes = attributesJson({ 'log.record.uid': id, ...Object.fromEntries(named) })
  return `{${times},${kind},"body":${valueJson(textOf(record))},"attributes":[${attributes}]}`
}

function severityOf({ outcome }: LogRecord) {
  if (outcome === 'failed' || outcome === 'lost') return { number: 17, text: 'ERROR' }
  if (outcome === 'aborted') return { number: 13, text: 'WARN' }
  return { number: 9, text: 'INFO' }
}

const textOf = ({ type, outcome, model }: LogRecord): string =>
  type === 'call' ? `model call ${String(outcome)}: ${String(model)}` : `recorded bodies of a call: ${String(model)}`
