import type { ScriptedUpstream } from './scripted-upstream.ts'

/** A configuration file whose models are all served by a scripted upstream; the first one is the default. */
export function configFor({ url, port }: Pick<ScriptedUpstream, 'url' | 'port'>, models = ['scripted']): string {
  return JSON.stringify({
    model_list: models.map(name => ({
      model_name: name,
      params: { model: `anthropic/${name}`, api_base: url, api_key: 'sk-upstream' },
    })),
    outbound: { allow: [`127.0.0.1:${port}`] },
  })
}
