import type { WholeEchoes } from '../platform/echoes.ts'
import { isRecord } from '../platform/json.ts'
import { echoesOfEndpoint, failureWithoutSecrets } from './endpoint-secrets.ts'
import type { Batch, RunContext, Runtime, RuntimeEndpoint } from './runtime.ts'

type Run = Runtime['run']
type SecretFilter = Pick<WholeEchoes, 'without' | 'begunAt'>

interface Secrets {
  readonly endpoint: Pick<RuntimeEndpoint, 'apiKey' | 'env'>
  /** Credentials of the models that programs of sessions call through this service. */
  readonly models: () => SecretFilter
}

/**
 * Wraps `run` so that events, previews and failures contain no credential, even if the runtime or a model repeats one.
 */
export function withoutSecrets(run: Run, { endpoint, models }: Secrets): Run {
  const ofRuntime = echoesOfEndpoint(endpoint)
  return async function* (session, prompt, context) {
    const redactor = createRedactor(combined(ofRuntime, models()), context)
    try {
      for await (const batch of run(session, prompt, redactor.context)) yield redactor.batch(batch)
    } catch (error) {
      throw failureWithoutSecrets(ofRuntime, error)
    }
  }
}

/** Removes credentials from the previews and batches of one run. */
export function createRedactor(echoes: SecretFilter, context: RunContext) {
  const buffered = new Map<string, string>()
  return {
    /** Previews arrive in pieces: an end that may be the start of a credential is buffered until the next piece. */
    context: {
      ...context,
      preview(eventId: string, piece: string) {
        const text = echoes.without((buffered.get(eventId) ?? '') + piece)
        const end = echoes.begunAt(text)
        buffered.set(eventId, text.slice(end))
        if (end > 0) context.preview(eventId, text.slice(0, end))
      },
    },

    /** Returns the batch to store. Publishes the buffered rest of its previews first. */
    batch<B extends Batch>(batch: B): B {
      for (const { id } of eventsOf(batch)) {
        const rest = typeof id === 'string' ? buffered.get(id) : undefined
        if (rest === undefined || typeof id !== 'string') continue
        buffered.delete(id)
        if (rest !== '') context.preview(id, rest)
      }
      return redactedBatch(echoes, batch)
    },
  }
}

const combined = (one: SecretFilter, other: SecretFilter): SecretFilter => ({
  without: text => other.without(one.without(text)),
  begunAt: text => Math.min(one.begunAt(text), other.begunAt(text)),
})

const eventsOf = (batch: Batch) => ('events' in batch ? batch.events : batch)

/** Provider ids stay unchanged: later requests need them. */
function redactedBatch<B extends Batch>({ without }: SecretFilter, batch: B): B
function redactedBatch({ without }: SecretFilter, batch: Batch): Batch {
  if (!('events' in batch)) return redacted(batch, without)
  const events = redacted(batch.events, without)
  return events === batch.events ? batch : { ...batch, events }
}

/** Redacts all strings in `value`; returns the same object when there is nothing to redact. */
function redacted<T>(value: T, without: (text: string) => string): T
function redacted(value: unknown, without: (text: string) => string): unknown {
  if (typeof value === 'string') return without(value)
  if (Array.isArray(value)) {
    const items = value.map(item => redacted(item, without))
    return items.every((item, at) => item === value[at]) ? value : items
  }
  if (!isRecord(value)) return value
  const fields = Object.entries(value)
  const clean = fields.map(([name, field]) => [without(name), redacted(field, without)] as const)
  const isSame = clean.every(([name, field], at) => name === fields[at]?.[0] && field === fields[at]?.[1])
  return isSame ? value : Object.fromEntries(clean)
}
