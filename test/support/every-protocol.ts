import { after } from 'node:test'
import { type Script, type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts'
import { type Service, startService } from './service.ts'
import { aliasOf, everyProtocol, type SpokenProtocol, spoken } from './spoken-protocols.ts'

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
