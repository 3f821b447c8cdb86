import { wholeEchoes } from '../../platform/echoes.ts'
import { isRecord } from '../../platform/json.ts'
import type { Batch, RunContext, Runtime } from '../runtime.ts'

type Run = Runtime['run']
type Erase = ReturnType<typeof wholeEchoes>

/** A shorter key is a word that any text may hold, and leaving it out would tell it. Our choice. */
const shortestKey = 8

/** Runs whose events and previews do not hold the key that opens the runtime, should it repeat it in what it says. */
export function withoutKey(run: Run, apiKey: string | undefined): Run {
  if (apiKey === undefined || apiKey.length < shortestKey) return run
  const erase = wholeEchoes(apiKey)
  return async function* (session, prompt, context) {
    const shown = { ...context, preview: previewWithout(erase, context.preview) }
    for await (const batch of run(session, prompt, shown)) yield cleaned(batch, erase)
  }
}

/** What the provider calls things stays as it is: it is asked for by these names. */
function cleaned(batch: Batch, { without }: Erase): Batch {
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

/** The key may come in pieces: what may be its first part waits for the next one. The event has all of the text. */
function previewWithout({ without, begunAt }: Erase, preview: RunContext['preview']): RunContext['preview'] {
  const waiting = new Map<string, string>()
  return (eventId, piece) => {
    const text = without((waiting.get(eventId) ?? '') + piece)
    const end = begunAt(text)
    waiting.set(eventId, text.slice(end))
    if (end > 0) preview(eventId, text.slice(0, end))
  }
}
