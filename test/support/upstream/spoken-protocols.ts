import type { Protocol } from '../../../src/server/config/protocols.ts'
import { anthropicMessages } from './dialects/anthropic-messages.ts'
import { bedrockConverse } from './dialects/bedrock-converse.ts'
import type { Dialect } from './dialects/dialect.ts'
import { gemini } from './dialects/gemini.ts'
import { openaiChat } from './dialects/openai-chat.ts'
import { openaiResponses } from './dialects/openai-responses.ts'

interface Spoken {
  readonly dialect: Dialect
  readonly provider: string
  /** A name that the codec takes for a model of today that thinks. */
  readonly model: string
}

/** How a scripted upstream of each protocol speaks, and what it is called. */
export const spoken = {
  'anthropic-messages': { dialect: anthropicMessages, provider: 'anthropic', model: 'claude-sonnet-5' },
  'openai-chat': { dialect: openaiChat, provider: 'openai-compatible', model: 'gpt-oss-2' },
  'openai-responses': { dialect: openaiResponses, provider: 'openai', model: 'gpt-5.2' },
  gemini: { dialect: gemini, provider: 'gemini', model: 'gemini-3-pro' },
  'bedrock-converse': { dialect: bedrockConverse, provider: 'bedrock', model: 'anthropic.claude-sonnet-5-v1:0' },
} as const satisfies Partial<Record<Protocol, Spoken>>

/** A protocol that a scripted upstream can speak. */
export type SpokenProtocol = keyof typeof spoken

/** The protocols of upstreams. */
export const everyProtocol = Object.keys(spoken) as SpokenProtocol[]

/** What clients call the model behind an upstream of `protocol`. Claude Code shows only names that begin so. */
export const aliasOf = (protocol: SpokenProtocol): string => `claude-on-${protocol}`

/** What the upstream of `protocol` calls it. */
export const upstreamModelOf = (protocol: SpokenProtocol): string => spoken[protocol].model
