/** Tool names that a protocol accepts. */
export interface NameRule {
  readonly pattern: RegExp
  readonly maxLength: number
}

/** Properties of a protocol that need no deployment. */
interface ProtocolFacts {
  /** Format of its requests and answers. */
  readonly format: 'anthropic' | 'openai' | 'gemini' | 'converse' | 'demo'
  /** Cloud that serves it, whose credentials its deployments may have. */
  readonly cloud?: 'aws' | 'google'
  /** Header of an API key, unless the provider has another. */
  readonly keyHeader: 'authorization' | 'x-api-key' | 'x-goog-api-key'
  /** True when it serves Claude alone; the name of the model may be an ARN. */
  readonly isClaudeOnly?: true
  readonly toolNames: NameRule
  /** Highest `temperature` that it accepts. */
  readonly maxTemperature: 1 | 2
}

const anthropicNames: NameRule = { pattern: /^[a-zA-Z0-9_-]{1,128}$/, maxLength: 128 }
const narrowNames: NameRule = { pattern: /^[a-zA-Z0-9_-]{1,64}$/, maxLength: 64 }
/** Vertex AI rejects colons, which Gemini's own API accepts. */
const geminiNames: NameRule = { pattern: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/, maxLength: 64 }
const anyNames: NameRule = { pattern: /^/, maxLength: 0 }

const anthropic = { format: 'anthropic', toolNames: anthropicNames, maxTemperature: 1 } as const
const openai = { format: 'openai', keyHeader: 'authorization', toolNames: narrowNames, maxTemperature: 2 } as const

const table = {
  'anthropic-messages': { ...anthropic, keyHeader: 'x-api-key' },
  'openai-chat': openai,
  'openai-responses': openai,
  gemini: { format: 'gemini', keyHeader: 'x-goog-api-key', toolNames: geminiNames, maxTemperature: 2 },
  'bedrock-converse': {
    format: 'converse',
    cloud: 'aws',
    keyHeader: 'authorization',
    toolNames: narrowNames,
    maxTemperature: 1,
  },
  'bedrock-invoke': { ...anthropic, cloud: 'aws', keyHeader: 'authorization', isClaudeOnly: true },
  'vertex-anthropic': { ...anthropic, cloud: 'google', keyHeader: 'authorization', isClaudeOnly: true },
  demo: { format: 'demo', keyHeader: 'authorization', toolNames: anyNames, maxTemperature: 2 },
} as const satisfies Readonly<Record<string, ProtocolFacts>>

/** Protocols of upstreams. `demo` is the scripted model in process; files cannot use it. */
export type Protocol = keyof typeof table

/** Every protocol of upstreams. Its codec is in `gateway/format-adapters.ts`. */
export const protocols: Readonly<Record<Protocol, ProtocolFacts>> = table

/** Protocols that a configuration file may use. */
export const protocolNames = (Object.keys(table) as Protocol[]).filter(name => name !== 'demo')

/** Returns true for OpenAI's two formats, which have the same features of tools, schemas and turns. */
export const isOpenAiFormat = (protocol: Protocol): boolean => protocols[protocol].format === 'openai'

/** Returns true for protocols whose requests have the canonical format. */
export const isAnthropicFormat = (protocol: Protocol): boolean => protocols[protocol].format === 'anthropic'
