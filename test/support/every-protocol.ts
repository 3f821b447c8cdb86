import { after } from 'node:test'
import type { Protocol } from '../../src/server/config/config.ts'
import { anthropicMessages } from './dialects/anthropic-messages.ts'
import { bedrockConverse } from './dialects/bedrock-converse.ts'
import type { Dialect } from './dialects/dialect.ts'
import { gemini } from './dialects/gemini.ts'
import { openaiChat } from './dialects/openai-chat.ts'
import { openaiResponses } from './dialects/openai-responses.ts'
import { type Script, type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts'
import { type Service, startService } from './service.ts'

interface Spoken {
  readonly dialect: Dialect
  readonly provider: string
  /** A name that the codec takes for a model of today that thinks. */
  readonly model: string
}

const spoken = {
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

interface Options {
  /** The answers are found in the prompts unless given. */
  readonly script?: Script
  /** More names for the models, besides those of `aliasOf`. */
  readonly aliases?: Readonly<Record<string, SpokenProtocol>>
}

/** A real service before a scripted upstream of each protocol. All end after the last test of the file. */
export async function startEveryProtocol({ script, aliases = {} }: Options = {}): Promise<{
  readonly service: Service
  readonly upstreams: Readonly<Record<SpokenProtocol, ScriptedUpstream>>
}> {
  const started = await Promise.all(
    everyProtocol.map(async protocol => {
      const { dialect } = spoken[protocol]
      return [protocol, await startScriptedUpstream({ dialect, ...(script && { script }) })] as const
    }),
  )
  after(() => Promise.all(started.map(([, upstream]) => upstream.stop())))
  const upstreams = Object.fromEntries(started) as Record<SpokenProtocol, ScriptedUpstream>
  const names = everyProtocol.map(protocol => [aliasOf(protocol), protocol] as const)
  const service = await startService({
    config: JSON.stringify({
      model_list: [...names, ...Object.entries(aliases)].map(([name, protocol]) => ({
        model_name: name,
        params: paramsOf(protocol, upstreams[protocol].url),
      })),
      outbound: { allow: started.map(([, { port }]) => `127.0.0.1:${port}`) },
    }),
  })
  return { service, upstreams }
}

const paramsOf = (protocol: SpokenProtocol, url: string) => ({
  model: `${spoken[protocol].provider}/${spoken[protocol].model}`,
  protocol,
  api_base: protocol.startsWith('openai-') ? `${url}/v1` : url,
  api_key: 'sk-upstream',
})
