import { after } from 'node:test'
import { type Service, type ServiceOptions, startService } from '../service/service.ts'
import type { Answer } from './scripted-answer.ts'
import { type Script, type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts'

interface Options extends Omit<ServiceOptions, 'config'> {
  /** Names that the upstream serves; the first is the default. `scripted` alone unless given. */
  readonly models?: readonly string[]
  /** The answers are found in the prompts unless given. */
  readonly script?: Script
}

/** A service whose models are played by a scripted upstream; both end after the last test of the file. */
export async function startScriptedService({ models, script, ...options }: Options = {}): Promise<{
  readonly service: Service
  readonly upstream: ScriptedUpstream
}> {
  const upstream = await startScriptedUpstream(script === undefined ? {} : { script })
  const service = await startService({ ...options, config: configFor(upstream, models) })
  after(() => upstream.stop())
  return { service, upstream }
}

/** A configuration file whose models are all served by a scripted upstream. */
export function configFor(
  { url, port }: Pick<ScriptedUpstream, 'url' | 'port'>,
  models = ['scripted'] as readonly string[],
  params: object = {},
) {
  return JSON.stringify({
    model_list: models.map(name => ({
      model_name: name,
      params: { model: `anthropic/${name}`, api_base: url, api_key: 'sk-upstream', ...params },
    })),
    outbound: { allow: [`127.0.0.1:${port}`] },
  })
}

/** A prompt that makes the scripted upstream send these answers, one per model call. */
export const saying = (...answers: readonly Answer[]): string => `[[${JSON.stringify(answers)}]]`

/** An answer that calls the tool `bash`. */
export const bash = (command: string): Answer => ({ tool_calls: [{ name: 'bash', input: { command } }] })
