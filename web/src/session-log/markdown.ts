import { noteText } from './notes.ts'
import { inputTokens } from './statistics.ts'
import { callTitle, promptText, textOf } from './tool-text.ts'
import type { Group, Item, Prompt, Thread, ToolCall, Turn, TurnEnd, View } from './view.ts'

/**
 * Returns the transcript as Markdown. Texts of the model stay Markdown; arguments, results and thoughts are code blocks,
 * whose fence is longer than any in the text.
 */
export function markdownOf(view: View, title: string): string {
  const parts = [`# ${oneLine(title)}`, ...view.turns.flatMap(turnParts), ...view.waiting.flatMap(waitingParts)]
  return `${parts.join('\n\n')}\n`
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** A code span. */
const inline = (text: string): string => {
  const fence = '`'.repeat(longestRun(text) + 1)
  const space = text.startsWith('`') || text.endsWith('`') ? ' ' : ''
  return `${fence}${space}${oneLine(text)}${space}${fence}`
}

const longestRun = (text: string): number => Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length))

function block(text: string, language = ''): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1))
  return `${fence}${language}\n${text.replace(/\n$/, '')}\n${fence}`
}

function turnParts(turn: Turn): string[] {
  return [
    ...(turn.prompt ? promptParts(turn.prompt) : []),
    ...turn.groups.flatMap(groupParts),
    ...(turn.end ? [endPart(turn.end)] : []),
  ]
}

function promptParts(prompt: Prompt): string[] {
  const when = prompt.queuedAt === undefined ? '' : ` (${prompt.queuedAt})`
  const text = promptText(prompt)
  return [`## User${when}`, ...(text === '' ? [] : [text])]
}

const waitingParts = (prompt: Prompt): string[] => [...promptParts(prompt), '*Waiting*']

function groupParts(group: Group): string[] {
  const header = group.kind === 'request' ? [`### ${headerOf(group)}`] : []
  return [...group.joined.flatMap(promptParts), ...header, ...group.items.flatMap(itemParts)]
}

function headerOf({ number, model, isCompaction, usage, state }: Group): string {
  const tokens = usage && `${inputTokens(usage)} → ${usage.output} tokens`
  const name = `${isCompaction ? 'Compaction' : 'Model request'} ${number}`
  return [name, model && inline(model), tokens, state === 'done' ? undefined : state].filter(Boolean).join(' · ')
}

function itemParts(item: Item): string[] {
  switch (item.kind) {
    case 'text':
      return [textOf(item.content), ...(item.isInterrupted ? ['*Interrupted*'] : [])]
    case 'thinking':
      return item.text === '' ? [] : ['*Thinking*', block(item.text)]
    case 'tool':
      return callParts(item)
    case 'thread':
      return threadParts(item)
    case 'note': {
      const { label, text } = noteText(item)
      return [`> **${label}**${text === '' ? '' : ` ${oneLine(text)}`}`]
    }
  }
}

function callParts(call: ToolCall): string[] {
  const { input, result, approval, state } = call
  const decision = approval && `approval: ${approval.state}${approval.decidedBy ? ` by ${approval.decidedBy}` : ''}`
  const facts = [state, decision].filter(Boolean).join(', ')
  const args = typeof input === 'string' ? block(input) : block(JSON.stringify(input, null, 2), 'json')
  return [`**Tool** ${inline(callTitle(call))} (${facts})`, args, ...(result ? [block(textOf(result.content))] : [])]
}

const threadParts = ({ agentName, sessionId, messages }: Thread): string[] => [
  `**Agent** ${inline(agentName ?? sessionId)} in session ${inline(sessionId)}`,
  ...messages.map(({ content }) => block(textOf(content))),
]

function endPart({ outcome, at, error, stopDetails, reason }: TurnEnd): string {
  const why = error?.message ?? stopDetails?.message ?? reason
  return `*${outcome} (${at})*${why === undefined ? '' : ` ${inline(why)}`}`
}
