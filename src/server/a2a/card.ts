import { a2aVersion } from '../../contract/a2a.ts'
import type { A2aAgentCard } from '../../contract/a2a-objects.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'

/** Settings of an agent for A2A. */
interface Settings {
  readonly isEnabled: boolean
  /** True when the card needs no key. */
  readonly hasPublicCard: boolean
}

/** Returns the settings in `config.a2a`. Agents of older releases may hold any value there. */
export function settingsOf({ config }: Pick<StoredAgent, 'config'>): Settings {
  const a2a = (config['a2a'] ?? {}) as { readonly enabled?: unknown; readonly public_card?: unknown }
  const isEnabled = a2a.enabled === true
  return { isEnabled, hasPublicCard: isEnabled && a2a.public_card === true }
}

/** Media types of results: text, and JSON where the agent has a schema. */
export const outputModesOf = ({ config }: Pick<StoredAgent, 'config'>): string[] =>
  config['output_schema'] === undefined ? ['text/plain'] : ['text/plain', 'application/json']

/** Returns the card of an agent; both bindings have the same address. */
export function cardOf(agent: StoredAgent, publicUrl: string): A2aAgentCard {
  const { id, name, description, version, skills } = agent
  const url = `${publicUrl}/a2a/${encodeURIComponent(id)}`
  return {
    name,
    description: description?.trim() ? description : `Agent ${name}`,
    version: String(version),
    supportedInterfaces: ['JSONRPC', 'HTTP+JSON'].map(protocolBinding => ({
      url,
      protocolBinding,
      protocolVersion: a2aVersion,
    })),
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: false },
    securitySchemes: {
      bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', description: 'A key of this service' } },
      apiKey: { apiKeySecurityScheme: { location: 'header', name: 'x-api-key', description: 'A key of this service' } },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }, { schemes: { apiKey: { list: [] } } }],
    defaultInputModes: ['text/plain', 'application/json', '*/*'],
    defaultOutputModes: outputModesOf(agent),
    skills: [
      {
        id: 'prompt',
        name,
        description: description?.trim() ? description : `Answers prompts as ${name}`,
        tags: ['agent'],
      },
      ...skills.map(skill => ({
        id: skill.id,
        name: skill.name,
        description: `Skill ${skill.name} of the agent`,
        tags: ['skill'],
      })),
    ],
  }
}
