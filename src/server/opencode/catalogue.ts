import type { Agent } from '../../contract/agents.ts'
import type { Model } from '../../contract/models.ts'
import { opencodePlace, opencodeProvider } from '../../contract/opencode-route.ts'
import type { RuntimeInfo } from '../runtimes/runtime.ts'

/** Returns the models of the gateway as the only provider of opencode, and the default model. */
export function providerOf(models: readonly Model[]) {
  const first = models[0]?.id
  return {
    provider: {
      id: opencodeProvider,
      name: 'Switchyard',
      source: 'config',
      env: [],
      options: {},
      models: Object.fromEntries(models.map(model => [model.id, modelOf(model)])),
    },
    default: first === undefined ? {} : { [opencodeProvider]: first },
  }
}

const text = { text: true, audio: false, image: false, video: false, pdf: false }

/** Returns a model in opencode's format; unknown figures are 0. */
const modelOf = ({ id, display_name, context_window = 0, max_output_tokens = 0, pricing }: Model) => ({
  id,
  providerID: opencodeProvider,
  api: { id, url: '', npm: '' },
  name: display_name,
  capabilities: {
    temperature: true,
    reasoning: true,
    attachment: false,
    toolcall: true,
    input: text,
    output: text,
    interleaved: false,
  },
  cost: {
    input: pricing?.input ?? 0,
    output: pricing?.output ?? 0,
    cache: { read: pricing?.cache_read ?? 0, write: pricing?.cache_write_5m ?? 0 },
  },
  limit: { context: context_window, output: max_output_tokens },
  status: 'active',
  options: {},
  headers: {},
  release_date: '',
})

/** Returns the runtimes and the caller's active agents. Their names are valid values of `agent` for a new session. */
export const agentsOf = (runtimes: readonly RuntimeInfo[], agents: readonly Agent[]) => [
  ...runtimes.filter(({ connected }) => connected).map(({ id, name }) => agentOf(id, name)),
  ...agents
    .filter(({ status }) => status === 'active')
    .map(({ id, name, description }) => agentOf(id, description ? `${name}: ${description}` : name)),
]

const agentOf = (name: string, description: string) => ({
  name,
  description,
  mode: 'primary',
  native: false,
  permission: [],
  options: {},
})

/** Settings that disable features which this server does not have. */
export const settingsOf = (models: readonly Model[]) => ({
  share: 'disabled',
  autoupdate: false,
  ...(models[0] && { model: `${opencodeProvider}/${models[0].id}` }),
})

const { directory } = opencodePlace

/** Folders as a session sees them; this server has no folders for opencode itself. */
export const folders = { home: directory, state: directory, config: directory, worktree: directory, directory }

/** The single project of all sessions. */
export const project = {
  id: opencodePlace.projectID,
  worktree: directory,
  time: { created: 0, updated: 0 },
  sandboxes: [],
}
