import { randomUUID } from 'node:crypto'
import type { SseFrame } from '../../../contract/sse.ts'

/** A finished or growing block of a model's answer. */
export type AnswerBlock =
  | { readonly type: 'text'; text: string }
  | { readonly type: 'thinking'; thinking: string; signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; json: string }
  | { readonly type: 'other'; readonly block: Readonly<Record<string, unknown>> }

/** A streamed answer as far as it was received. */
export interface Answer {
  readonly blocks: readonly AnswerBlock[]
  readonly stopReason: string | undefined
  readonly usage: Readonly<Record<string, unknown>>
  /** True once `message_stop` was received. */
  readonly isComplete: boolean
  /** Error that the provider sent inside the stream. */
  readonly error: { readonly type: string; readonly message: string } | undefined
}

interface WireEvent {
  readonly type?: string
  readonly index?: number
  readonly message?: { readonly usage?: Record<string, unknown> }
  readonly content_block?: Record<string, unknown>
  readonly delta?: Record<string, unknown>
  readonly usage?: Record<string, unknown>
  readonly error?: { readonly type?: string; readonly message?: string }
}

/**
 * Collects the frames of an Anthropic stream into an answer. `onText` gets each piece of text with its block's index.
 */
export function collectAnswer(onText: (index: number, text: string) => void) {
  const blocks: AnswerBlock[] = []
  let stopReason: string | undefined
  let usage: Record<string, unknown> = {}
  let isComplete = false
  let error: Answer['error']

  function delta(index: number, change: Record<string, unknown>): void {
    const block = blocks[index]
    if (block?.type === 'text' && typeof change['text'] === 'string') {
      block.text += change['text']
      onText(index, change['text'])
    } else if (block?.type === 'tool_use' && typeof change['partial_json'] === 'string')
      block.json += change['partial_json']
    else if (block?.type === 'thinking') {
      if (typeof change['thinking'] === 'string') block.thinking += change['thinking']
      if (typeof change['signature'] === 'string') block.signature += change['signature']
    }
  }

  return {
    frame({ data }: SseFrame): void {
      const event = JSON.parse(data) as WireEvent
      switch (event.type) {
        case 'message_start':
          usage = { ...usage, ...event.message?.usage }
          break
        case 'content_block_start':
          blocks[event.index ?? blocks.length] = startedBlock(event.content_block ?? {}, blocks)
          break
        case 'content_block_delta':
          delta(event.index ?? -1, event.delta ?? {})
          break
        case 'message_delta':
          if (typeof event.delta?.['stop_reason'] === 'string') stopReason = event.delta['stop_reason']
          // Counts are running totals: replace them, do not add.
          usage = { ...usage, ...event.usage }
          break
        case 'message_stop':
          isComplete = true
          break
        case 'error':
          error = { type: event.error?.type ?? 'api_error', message: event.error?.message ?? 'the model call failed' }
          break
        default:
      }
    },
    result: (): Answer => ({ blocks: blocks.filter(Boolean), stopReason, usage, isComplete, error }),
  }
}

function startedBlock(block: Record<string, unknown>, others: readonly (AnswerBlock | undefined)[]): AnswerBlock {
  switch (block['type']) {
    case 'text':
      return { type: 'text', text: String(block['text'] ?? '') }
    case 'thinking':
      return {
        type: 'thinking',
        thinking: String(block['thinking'] ?? ''),
        signature: String(block['signature'] ?? ''),
      }
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: String(block['data'] ?? '') }
    case 'tool_use':
      return { type: 'tool_use', id: callId(block['id'], others), name: String(block['name']), json: '' }
    default:
      return { type: 'other', block }
  }
}

const maxIdLength = 256

/**
 * Returns the id of a call: that of the provider, or a new one when it is missing, too long or the id of another call of
 * the answer. Approvals and results name a call by its id.
 */
function callId(given: unknown, others: readonly (AnswerBlock | undefined)[]): string {
  const isUsable = typeof given === 'string' && given !== '' && given.length <= maxIdLength
  const isTaken = others.some(block => block?.type === 'tool_use' && block.id === given)
  return isUsable && !isTaken ? given : `toolu_${randomUUID().replaceAll('-', '')}`
}
