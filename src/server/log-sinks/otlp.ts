import { jsonOr, recordOf } from '../platform/json.ts'
import { attributeOf, encodedAttributes, nanoseconds } from '../platform/otlp.ts'
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

/** Returns an export request of OTLP logs in its JSON encoding. Source: OpenTelemetry protocol, logs. */
export const otlpBody = (records: readonly LogRecord[]) => ({
  resourceLogs: [
    {
      resource: { attributes: encodedAttributes({ 'service.name': 'switchyard' }) },
      scopeLogs: [{ scope: { name: 'switchyard' }, logRecords: records.map(logRecord) }],
    },
  ],
})

/** Returns how many records a response rejects; 0 for a response that is not readable. */
export function rejectedBy(text: string): number {
  const { partialSuccess } = recordOf(jsonOr(text, undefined))
  const count = Number(recordOf(partialSuccess)['rejectedLogRecords'] ?? 0)
  return Number.isFinite(count) ? count : 0
}

function logRecord(record: LogRecord) {
  const { id, type, time, ...fields } = record
  const at = nanoseconds(Date.parse(time))
  const given = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
  const named = given.map(([name, value]) => [conventional[name] ?? `switchyard.${name}`, attributeOf(value)] as const)
  return {
    timeUnixNano: at,
    observedTimeUnixNano: at,
    ...severityOf(record),
    eventName: `switchyard.${type}`,
    body: { stringValue: textOf(record) },
    attributes: encodedAttributes({ 'log.record.uid': id, ...Object.fromEntries(named) }),
  }
}

function severityOf({ outcome }: LogRecord) {
  if (outcome === 'failed' || outcome === 'lost') return { severityNumber: 17, severityText: 'ERROR' }
  if (outcome === 'aborted') return { severityNumber: 13, severityText: 'WARN' }
  return { severityNumber: 9, severityText: 'INFO' }
}

const textOf = ({ type, outcome, model }: LogRecord): string =>
  type === 'call' ? `model call ${String(outcome)}: ${String(model)}` : `recorded bodies of a call: ${String(model)}`
