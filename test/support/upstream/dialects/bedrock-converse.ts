import type { ScriptedBlock, ScriptedMessage } from '../message-frames.ts'
import { awsEvent, awsException } from './aws-frame.ts'
import { counted, type Dialect, pieces } from './dialect.ts'

/** Amazon Bedrock's Converse and ConverseStream. */
export const bedrockConverse: Dialect = {
  requestKind(path) {
    if (path.endsWith('/count-tokens')) return 'count'
    if (path.endsWith('/converse-stream')) return 'stream'
    return path.endsWith('/converse') ? 'whole' : undefined
  },
  frames: message => [
    awsEvent('messageStart', { role: 'assistant' }),
    ...message.content.flatMap((block, at) => blockFrames(block, at)),
    awsEvent('messageStop', { stopReason: stopReason(message) }),
    awsEvent('metadata', { usage: usage(message), metrics: { latencyMs: 1 } }),
  ],
  whole: message => ({
    output: { message: { role: 'assistant', content: message.content.map(wholeBlock) } },
    stopReason: stopReason(message),
    usage: usage(message),
    metrics: { latencyMs: 1 },
  }),
  count: tokens => ({ inputTokens: tokens }),
  streamType: 'application/vnd.amazon.eventstream',
  error: (_status, message) => ({ message }),
  brokenFrame: awsException('modelStreamErrorException', 'The model could not finish'),
}

function blockFrames(block: ScriptedBlock, contentBlockIndex: number): Buffer[] {
  const delta = (value: object) => awsEvent('contentBlockDelta', { contentBlockIndex, delta: value })
  const stop = awsEvent('contentBlockStop', { contentBlockIndex })
  switch (block.type) {
    case 'thinking':
      return [
        ...pieces(block.thinking).map(text => delta({ reasoningContent: { text } })),
        delta({ reasoningContent: { signature: block.signature } }),
        stop,
      ]
    case 'text':
      return [...pieces(block.text).map(text => delta({ text })), stop]
    case 'tool_use': {
      const start = { toolUse: { toolUseId: block.id, name: block.name } }
      return [
        awsEvent('contentBlockStart', { contentBlockIndex, start }),
        ...pieces(JSON.stringify(block.input)).map(input => delta({ toolUse: { input } })),
        stop,
      ]
    }
  }
}

function wholeBlock(block: ScriptedBlock): object {
  switch (block.type) {
    case 'thinking':
      return { reasoningContent: { reasoningText: { text: block.thinking, signature: block.signature } } }
    case 'text':
      return { text: block.text }
    case 'tool_use':
      return { toolUse: { toolUseId: block.id, name: block.name, input: block.input } }
  }
}

const stopReason = ({ stop_reason }: ScriptedMessage): string =>
  stop_reason === 'refusal' ? 'content_filtered' : stop_reason

const usage = (message: ScriptedMessage) => ({
  inputTokens: message.usage.input_tokens,
  outputTokens: message.usage.output_tokens,
  totalTokens: message.usage.input_tokens + message.usage.output_tokens,
  cacheReadInputTokens: counted(message, 'cache_read_input_tokens'),
  cacheWriteInputTokens: counted(message, 'cache_creation_input_tokens'),
})
