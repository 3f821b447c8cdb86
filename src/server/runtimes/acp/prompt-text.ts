import { awaitedApprovals, isOfThread, type NewEvent } from '../../../contract/events.ts'
import { conversationEntry, conversationText } from '../conversation-text.ts'
import { paragraphs, resumeInstruction, textOfPart, timezoneNote } from '../prompt-words.ts'
import type { RunPrompt, RunSession } from '../runtime.ts'

interface OpenCall {
  readonly id: string
  /** True for a call of an MCP server. */
  readonly isMcp?: true
}

/** The part of the log before this run. */
export interface History {
  /** Conversation, one entry per event, without the prompt of this run. */
  readonly entries: readonly string[]
  /** Tool calls without a result. */
  readonly openCalls: readonly OpenCall[]
  /** True when the log waits for a person. */
  readonly isWaiting: boolean
}

/** Reads the log. */
export async function readHistory(history: AsyncIterable<NewEvent>, promptId: string): Promise<History> {
  const entries: string[] = []
  const open = new Map<string, OpenCall>()
  let isWaiting = false
  for await (const event of history) {
    if (event.prompt_id !== promptId || event.type !== 'user.message') entries.push(...conversationEntry(event))
    if (isOfThread(event)) continue
    noteCall(open, event)
    if (event.type === 'session.status_idle') isWaiting = awaitedApprovals(event).length > 0
    if (event.type === 'session.status_running') isWaiting = false
  }
  return { entries, openCalls: [...open.values()], isWaiting }
}

/** Adds the call of an event to the open ones, or removes the one that it ends. */
function noteCall(open: Map<string, OpenCall>, event: NewEvent): void {
  if (event.type === 'agent.tool_use') open.set(event.tool_use_id, { id: event.tool_use_id })
  if (event.type === 'agent.mcp_tool_use') open.set(event.tool_use_id, { id: event.tool_use_id, isMcp: true })
  if (event.type === 'agent.tool_result') open.delete(event.tool_use_id)
  if (event.type === 'agent.mcp_tool_result') open.delete(event.mcp_tool_use_id)
}

interface Sent {
  readonly session: Pick<RunSession, 'system' | 'timezone'>
  readonly prompt: Pick<RunPrompt, 'parts' | 'system'>
  /** Text block with the agent's memories; empty without any. */
  readonly memories: string
  readonly history: Pick<History, 'entries'>
  /** False when the program has the conversation. */
  readonly isNew: boolean
  /** True when the prompt was sent before and its turn was interrupted. */
  readonly isAgain: boolean
}

/** Returns the text of a prompt. The protocol has no system prompt, so it precedes the text of the first prompt. */
export function promptText({ session, prompt, memories, history, isNew, isAgain }: Sent): string {
  const system = prompt.system ?? (isNew ? session.system : '')
  const text = prompt.parts.map(textOfPart).join('\n')
  return paragraphs(
    system,
    isNew ? timezoneNote(session) : '',
    isNew ? memories : '',
    isNew ? conversationText(history.entries) : '',
    isAgain ? `${resumeInstruction}\n${text}` : text,
  )
}
