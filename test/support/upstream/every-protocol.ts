import { after } from 'node:test'
import { type Service, startService } from '../service/service.ts'
import { type Script, type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts'
import { aliasOf, everyProtocol, type SpokenProtocol, spoken } from './spoken-protocols.ts'

interface Options {
  /** The answers are found in the prompts unless given. */
  readonly script?: Script
  /** More names for the models, besides those of `aliasOf`. */
  readonly aliases?: Readonly<Record<string, SpokenProtocol>>
  /** Parameters of models, by their names. */
  readonly params?: Readonly<Record<string, object>>
  /** Other hosts that the service may call. */
  readonly hosts?: readonly string[]
  /** More of the configuration file. */
  readonly config?: object
}

/** A real service before a scripted upstream of each protocol. All end after the last test of the file. */
export async function startEveryProtocol({
  script,
  aliases = {},
  params = {},
  hosts = [],
  config: more = {},
}: Options = {}): Promise<{
  readonly service: Service
  readonly upstreams: Readonly<Record<SpokenProtocol, ScriptedUpstream>>
  /** Of the service, for another one beside it. */
  readonly config: string
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
  const config = JSON.stringify({
    model_list: [...names, ...Object.entries(aliases)].map(([name, protocol]) => ({
      model_name: name,
      params: { ...paramsOf(protocol, upstreams[protocol].url), ...params[name] },
    })),
    outbound: { allow: [...started.map(([, { port }]) => `127.0.0.1:${port}`), ...hosts] },
    ...more,
  })
  const service = await startService({ config })
  return { service, upstreams, config }
}

const paramsOf = (protocol: SpokenProtocol, url: string) => ({
  model: `${spoken[protocol].provider}/${spoken[protocol].model}`,
  protocol,
  api_base: protocol.startsWith('openai-') ? `${url}/v1` : url,
  api_key: 'sk-upstream',
})
