import { isRecord, type Json, jsonOr } from '../../../platform/json.ts'
import type { WireBlock, WireDelta, WireEvent, WireMessage } from './wire-event.ts'

/** Puts the events of a stream together to the answer of a call that is not streamed. */
export interface MessageCollector {
  take(event: WireEvent): void
  /** The whole message once it has ended; undefined when the input of a tool call is no JSON object. */
  message(): WireMessage | undefined
}

interface OpenBlock {
  readonly start: WireBlock
  text: string
  signature: string
}

export function createMessageCollector(): MessageCollector {
  let opening: WireMessage | undefined
  let ending: Extract<WireEvent, { type: 'message_delta' }> | undefined
  const blocks: OpenBlock[] = []

  const add = (delta: WireDelta): void => {
    const block = blocks.at(-1)
    if (!block) return
    switch (delta.type) {
      case 'text_delta':
        block.text += delta.text
        break
      case 'thinking_delta':
        block.text += delta.thinking
        break
      case 'input_json_delta':
        block.text += delta.partial_json
        break
      case 'signature_delta':
        block.signature += delta.signature
    }
  }

  return {
    take(event) {
      if (event.type === 'message_start') opening = event.message
      else if (event.type === 'content_block_start')
        blocks.push({ start: event.content_block, text: '', signature: '' })
      else if (event.type === 'content_block_delta') add(event.delta)
      else if (event.type === 'message_delta') ending = event
    },
    message() {
      if (!opening || !ending) return undefined
      const { stop_reason, stop_sequence } = ending.delta
      const isCut = stop_reason === 'max_tokens'
      const content = blocks.map(block => wholeBlock(block, isCut ? {} : undefined))
      if (content.some(block => block === undefined)) return undefined
      return { ...opening, content: content as WireBlock[], stop_reason, stop_sequence, usage: ending.usage }
    },
  }
}

/** `unreadable` stands for an input that is no JSON object: a call that the token limit has cut is shown without one. */
function wholeBlock({ start, text, signature }: OpenBlock, unreadable: object | undefined): WireBlock | undefined {
  switch (start.type) {
    case 'text':
      return { ...start, text }
    case 'thinking':
      return { ...start, thinking: text, signature }
    case 'tool_use': {
      const input = objectIn(text) ?? unreadable
      return input && { ...start, input }
    }
    default:
      return start
  }
}

function objectIn(text: string): Json | undefined {
  const value = jsonOr(text, undefined)
  return isRecord(value) ? value : undefined
}
