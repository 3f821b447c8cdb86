import { callFor, type DemoStep, offeredTools, planOf } from './demo-plan.ts'
import type { ScriptedBlock } from './message-events.ts'

const label = 'demo model: scripted, no real model.'

/** Next turn of the scripted model. */
export interface DemoTurn {
  readonly content: readonly ScriptedBlock[]
  readonly stopReason: 'end_turn' | 'tool_use'
}

/**
 * Returns the next turn of the scripted model. It is a pure function of the request: the same conversation always gets
 * the same turn. The model executes the steps of the last prompt with the offered tools, one call per turn, then
 * summarises.
 */
export function demoTurn(request: Readonly<Record<string, unknown>>): DemoTurn {
  const messages = messagesOf(request['messages'])
  const promptAt = messages.findLastIndex(({ role, blocks }) => role === 'user' && textOf(blocks) !== '')
  const prompt = textOf(messages[promptAt]?.blocks ?? [])
  const results = messages
    .slice(promptAt + 1)
    .flatMap(({ blocks }) => blocks.filter(({ type }) => type === 'tool_result'))
  const last = results.at(-1)
  const tools = offeredTools(request)
  const calls = planOf(prompt).flatMap(step => {
    const call = callFor(step, tools)
    return call ? [{ step, call }] : []
  })
  if (calls.length === 0) return said(`${label} ${echoOf(prompt)}`)
  if (last?.isError) return said(`${label} The last tool call failed, so I stop here:\n${firstLines(last.text)}`)
  const next = calls[results.length]
  if (!next)
    return said(
      `${label} Done: ${calls.map(({ step }) => nameOf(step)).join(', ')}. The last tool said:\n${firstLines(last?.text ?? '')}`,
    )
  const text = results.length === 0 ? `${label} I will now ${nameOf(next.step)}.` : `Next I ${nameOf(next.step)}.`
  const id = `toolu_demo_${messages.length}_${results.length}`
  return {
    content: [
      { type: 'text', text },
      { type: 'tool_use', id, ...next.call },
    ],
    stopReason: 'tool_use',
  }
}

const said = (text: string): DemoTurn => ({ content: [{ type: 'text', text }], stopReason: 'end_turn' })

const echoOf = (prompt: string): string =>
  `You wrote: "${prompt.slice(0, 200)}". Set a provider key, such as ANTHROPIC_API_KEY, to talk to a real model.`

function nameOf(step: DemoStep): string {
  switch (step.kind) {
    case 'write':
      return `write ${step.file}`
    case 'read':
      return `read ${step.file}`
    case 'run':
      return `run ${step.command}`
    case 'ask':
      return `ask ${step.agent}`
    case 'list':
      return 'list the folder'
  }
}

function firstLines(text: string): string {
  const lines = text.trimEnd().split('\n')
  const shown = lines.slice(0, 8).map(line => line.slice(0, 200))
  return `${shown.join('\n') || '(nothing)'}${lines.length > shown.length ? `\n... and ${lines.length - shown.length} lines more` : ''}`
}

interface Block {
  readonly type: string
  readonly text: string
  readonly isError: boolean
}

interface ReadMessage {
  readonly role: unknown
  readonly blocks: readonly Block[]
}

function messagesOf(value: unknown): readonly ReadMessage[] {
  if (!Array.isArray(value)) return []
  return value.map(message => {
    const { role, content } = (message ?? {}) as { role?: unknown; content?: unknown }
    return { role, blocks: blocksOf(content) }
  })
}

/** Converts content to blocks: a string becomes one text block; a tool result has the text of its blocks. */
function blocksOf(content: unknown): readonly Block[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, isError: false }]
  if (!Array.isArray(content)) return []
  return content.map(block => {
    const { type, text, content: inner, is_error: isError } = (block ?? {}) as Record<string, unknown>
    const own = typeof text === 'string' ? text : typeof inner === 'string' ? inner : innerText(inner)
    return { type: String(type), text: own, isError: isError === true }
  })
}

/** Joins the text of nested blocks. The format nests one level only. */
const innerText = (content: unknown): string =>
  Array.isArray(content)
    ? content.map(block => String((block as { text?: unknown } | null)?.text ?? '')).join('\n')
    : ''

const textOf = (blocks: readonly Block[]): string =>
  blocks
    .filter(({ type }) => type === 'text')
    .map(({ text }) => text)
    .join('\n')
    .trim()
