import type { WholeEchoes } from '../platform/echoes.ts'
import { isRecord } from '../platform/json.ts'
import { echoesOfEndpoint, failureWithout } from './endpoint-secrets.ts'
import type { Batch, RunContext, Runtime, RuntimeEndpoint } from './runtime.ts'

type Run = Runtime['run']
type Erase = Pick<WholeEchoes, 'without' | 'begunAt'>

interface Secrets {
  readonly endpoint: Pick<RuntimeEndpoint, 'apiKey' | 'env'>
  /** Those of the models, which programs of sessions call through this service. */
  readonly models: () => Erase
}

/** Runs whose events, previews and failures hold no credential, should the runtime or a model repeat one in what it says. */
export function withoutSecrets(run: Run, { endpoint, models }: Secrets): Run {
  const ofRuntime = echoesOfEndpoint(endpoint)
  return async function* (session, prompt, context) {
    const erasing = createErasing(together(ofRuntime, models()), context)
    try {
      for await (const batch of run(session, prompt, erasing.context)) yield erasing.batch(batch)
    } catch (error) {
      throw failureWithout(ofRuntime, error)
    }
  }
}

/** Takes credentials out of the previews and the batches of one run. */
export function createErasing(echoes: Erase, context: RunContext) {
  const waiting = new Map<string, string>()
  return {
    /** Its previews may come in pieces: what may be the first part of a credential is buffered until the next piece. */
    context: {
      ...context,
      preview(eventId: string, piece: string) {
        const text = echoes.without((waiting.get(eventId) ?? '') + piece)
        const end = echoes.begunAt(text)
        waiting.set(eventId, text.slice(end))
        if (end > 0) context.preview(eventId, text.slice(0, end))
      },
    },

    /** The batch as it is to be stored. What is left of the previews of its events goes out first. */
    batch<B extends Batch>(batch: B): B {
      for (const { id } of eventsOf(batch)) {
        const rest = typeof id === 'string' ? waiting.get(id) : undefined
        if (rest === undefined || typeof id !== 'string') continue
        waiting.delete(id)
        if (rest !== '') context.preview(id, rest)
      }
      return batchWithout(echoes, batch)
    },
  }
}

const together = (one: Erase, other: Erase): Erase => ({
  without: text => other.without(one.without(text)),
  begunAt: text => Math.min(one.begunAt(text), other.begunAt(text)),
})

const eventsOf = (batch: Batch) => ('events' in batch ? batch.events : batch)

/** What the provider calls things stays as it is: it is asked for by these names. */
function batchWithout<B extends Batch>({ without }: Erase, batch: B): B
function batchWithout({ without }: Erase, batch: Batch): Batch {
  if (!('events' in batch)) return erased(batch, without)
  const events = erased(batch.events, without)
  return events === batch.events ? batch : { ...batch, events }
}

/** `value` with all of its strings erased; the very same value where nothing is to be erased. */
function erased<T>(value: T, without: (text: string) => string): T
function erased(value: unknown, without: (text: string) => string): unknown {
  if (typeof value === 'string') return without(value)
  if (Array.isArray(value)) {
    const items = value.map(item => erased(item, without))
    return items.every((item, at) => item === value[at]) ? value : items
  }
  if (!isRecord(value)) return value
  const fields = Object.entries(value)
  const clean = fields.map(([name, field]) => [without(name), erased(field, without)] as const)
  const isSame = clean.every(([name, field], at) => name === fields[at]?.[0] && field === fields[at]?.[1])
  return isSame ? value : Object.fromEntries(clean)
}
