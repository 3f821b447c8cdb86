import type { Answer } from './scripted-answer.ts'

/** An entry of a conversation, in any protocol's words. */
interface Entry {
  readonly type?: string
  readonly role?: string
  readonly content?: unknown
  readonly parts?: unknown
}

/**
 * Finds its answers in the prompt: `[[{"text":"hi"}]]`, or `[[[{"tool_calls":[...]}, {"text":"done"}]]]` for a turn with
 * tools, one answer a model call. Without a marker the answer is "ok". The last marker in a text of the user counts;
 * what a tool gave back never does.
 */
export function markerScript({ body }: { readonly body: Readonly<Record<string, unknown>> }): Answer {
  const entries = entriesOf(body)
  const promptAt = entries.findLastIndex(entry => markedText(entry) !== undefined)
  const marked = entries[promptAt]
  if (!marked) return {}
  const answers = [JSON.parse(/\[\[(.*)\]\]/s.exec(markedText(marked) ?? '')?.[1] ?? '{}')].flat() as Answer[]
  const calls = turnsOfModel(entries.slice(promptAt))
  return answers[Math.min(calls, answers.length - 1)] ?? {}
}

/** Messages, the items of a response's input, or Google's contents. */
function entriesOf({ messages, input, contents }: Readonly<Record<string, unknown>>): readonly Entry[] {
  const found = messages ?? input ?? contents ?? []
  return typeof found === 'string' ? [{ role: 'user', content: found }] : (found as Entry[])
}

/** The last text of the user in `entry` that holds a marker. */
function markedText({ role, content, parts }: Entry): string | undefined {
  if (role !== 'user') return undefined
  const said = content ?? parts ?? []
  const texts = typeof said === 'string' ? [said] : (said as { readonly text?: unknown }[]).map(({ text }) => text)
  return texts.findLast((text): text is string => typeof text === 'string' && text.includes('[['))
}

/** How often the model has answered. Some protocols make several entries of one answer. */
function turnsOfModel(entries: readonly Entry[]): number {
  return entries.filter((entry, at) => isOfModel(entry) && !(at > 0 && isOfModel(entries[at - 1] ?? {}))).length
}

/** Items without a role are output of the model, but for the results of its calls. */
const isOfModel = ({ role, type = '' }: Entry): boolean =>
  role === undefined ? !type.endsWith('_output') : role === 'assistant' || role === 'model'
