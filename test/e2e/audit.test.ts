import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import { allRoutes } from '../../src/contract/api.ts'
import type { AuditEntry } from '../../src/contract/audit.ts'
import type { ApiKey, ShownApiKey } from '../../src/contract/keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { type Answered, type Sent, send } from '../support/service/send.ts'
import { saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService()

/** A change, and its entry in the audit log. */
interface Change extends Sent {
  readonly line: string
  readonly action: string
  /** Found in the answer unless given. */
  readonly objectId?: string
}

const secret = 'value-of-a-secret-that-no-log-holds'
const agentFields = { name: 'Audited', owner_id: 'team', system: 'The prompt itself.' }
const newAgent = async () => (await send(service, 'POST /api/agents', { body: agentFields })).json<Agent>().id
const newKey = async () => (await send(service, 'POST /api/keys', { body: { label: 'audited' } })).json<ApiKey>().id

const ofAgent =
  (verb: string, line = `POST /api/agents/{id}/${verb}`, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const objectId = await newAgent()
    return { ...sent, line: line.replace('{id}', objectId), action: `agent.${verb}`, objectId }
  }
const ofKey =
  (verb: string, line: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const objectId = await newKey()
    return { ...sent, line: line.replace('{id}', objectId), action: `key.${verb}`, objectId }
  }

let models = 0
const newModel = () => ({ model_name: `added-${++models}`, params: { model: 'anthropic/claude-x', api_key: secret } })
const ofModel =
  (verb: string, line: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const made = await send(service, 'POST /api/models', { body: newModel() })
    const objectId = made.json<{ id: string }>().id
    return { ...sent, line: line.replace('{id}', objectId), action: `model.${verb}`, objectId }
  }

const ofMemory =
  (verb: string, line: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const agent = `/api/v1/managed_agents/agents/${await newAgent()}`
    const made = await send(service, `POST ${agent}/memory`, { body: { text: secret } })
    const objectId = made.json<{ id: string }>().id
    return {
      ...sent,
      line: line.replace('{agent}', agent).replace('{id}', objectId),
      action: `memory.${verb}`,
      objectId,
    }
  }

const newFile = async () => {
  const form = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\na\r\n--x--'
  const headers = { 'content-type': 'multipart/form-data; boundary=x', 'anthropic-version': '2023-06-01' }
  return (await send(service, 'POST /v1/files', { headers, body: form })).json<{ id: string }>().id
}
const newSkill = async () =>
  (await send(service, 'POST /api/v1/skills', { body: { name: 'Audited', content: secret } })).json<{ id: string }>().id
const ofSkill =
  (verb: string, line: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const objectId = await newSkill()
    return { ...sent, line: line.replace('{id}', objectId), action: `skill.${verb}`, objectId }
  }
const ofEnvironment =
  (verb: string, line: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const made = await send(service, 'POST /v1/environments', { body: { name: 'Audited', description: secret } })
    const objectId = made.json<{ id: string }>().id
    return {
      ...sent,
      line: line.replace('{id}', `/v1/environments/${objectId}`),
      action: `environment.${verb}`,
      objectId,
    }
  }
const agentSkill = (id: string) => `/api/v1/managed_agents/agents/${id}/skill`
/** An agent that carries a skill. */
async function carrying(): Promise<{ agentId: string; skillId: string }> {
  const [agentId, skillId] = [await newAgent(), await newSkill()]
  await send(service, `POST ${agentSkill(agentId)}`, { body: { skill_id: skillId } })
  return { agentId, skillId }
}

const scheduled = { name: 'Audited', cron: '0 0 1 1 *', prompt: secret }
const ofSchedule =
  (verb: string, line: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const body = { ...scheduled, agent_id: await newAgent() }
    const objectId = (await send(service, 'POST /api/schedules', { body })).json<{ id: string }>().id
    return { ...sent, line: line.replace('{id}', objectId), action: `schedule.${verb}`, objectId }
  }
/** A dataset whose case takes so long that its experiments run until they are cancelled. */
async function newDataset(): Promise<{ id: string; caseId: string }> {
  const { id } = (await send(service, 'POST /api/datasets', { body: { name: 'Audited' } })).json<{ id: string }>()
  const body = { cases: [{ prompts: [saying({ delayMs: 60_000 })] }] }
  const added = await send(service, `POST /api/datasets/${id}/cases`, { body })
  return { id, caseId: added.json<{ cases: { id: string }[] }>().cases[0]?.id ?? '' }
}
const newExperiment = async (): Promise<string> => {
  const body = { dataset_id: (await newDataset()).id, agent_id: await newAgent() }
  return (await send(service, 'POST /api/experiments', { body })).json<{ id: string }>().id
}
const receiver = { url: 'https://receiver.invalid/hook' }
const ofEndpoint =
  (verb: string, line: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const made = await send(service, 'POST /api/webhook-endpoints', { body: receiver })
    const objectId = made.json<{ id: string }>().id
    return { ...sent, line: line.replace('{id}', objectId), action: `webhook_endpoint.${verb}`, objectId }
  }

let harnesses = 0
const newHarness = () => ({ alias: `audited-${++harnesses}`, api_spec: 'opencode', api_base: 'https://oc.invalid' })
const ofHarness =
  (verb: string, method: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const body = newHarness()
    await send(service, 'POST /api/runtime-harnesses', { body })
    const line = `${method} /api/runtime-harnesses/${body.alias}`
    return { ...sent, line, action: `runtime_harness.${verb}`, objectId: body.alias }
  }
const idOfNew = async (line: string): Promise<string> =>
  (await send(service, line, { body: { name: 'Audited' } })).json<{ id: string }>().id
const ofUser =
  (verb: string, method: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const objectId = await idOfNew('POST /api/users')
    return { ...sent, line: `${method} /api/users/${objectId}`, action: `user.${verb}`, objectId }
  }
const ofTeam =
  (verb: string, method: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const objectId = await idOfNew('POST /api/teams')
    return { ...sent, line: `${method} /api/teams/${objectId}`, action: `team.${verb}`, objectId }
  }
/** A team with a member, or with none yet. */
const ofMember = (verb: string, method: string, isMember: boolean) => async (): Promise<Change> => {
  const objectId = await idOfNew('POST /api/teams')
  const member = `/api/teams/${objectId}/members/${await idOfNew('POST /api/users')}`
  if (isMember) await send(service, `PUT ${member}`)
  return { line: `${method} ${member}`, action: `team.${verb}`, objectId }
}
let mcpServers = 0
const newMcpServer = () => ({
  server_name: `audited-${++mcpServers}`,
  url: 'https://mcp.invalid/mcp',
  auth_type: 'bearer_token',
  credentials: { auth_value: secret },
})
const ofMcpServer =
  (verb: string, method: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const made = await send(service, 'POST /v1/mcp/server', { body: newMcpServer() })
    const objectId = made.json<{ server_id: string }>().server_id
    return { ...sent, line: `${method} /v1/mcp/server/${objectId}`, action: `mcp_server.${verb}`, objectId }
  }
const connecting = { line: 'PUT /api/agent-runtimes/cursor/credentials', body: { api_key: secret } }

const newVault = async () =>
  (await send(service, 'POST /v1/vaults', { body: { display_name: 'Audited' } })).json<{ id: string }>().id
const ofVault =
  (verb: string, line: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const objectId = await newVault()
    return { ...sent, line: line.replace('{id}', `/v1/vaults/${objectId}`), action: `managed_vault.${verb}`, objectId }
  }
const credential = {
  auth: { type: 'static_bearer', mcp_server_url: 'https://mcp.invalid/mcp', token: secret },
}
const ofCredential =
  (action: string, line: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const path = `/v1/vaults/${await newVault()}/credentials`
    const objectId = (await send(service, `POST ${path}`, { body: credential })).json<{ id: string }>().id
    return { ...sent, line: line.replace('{id}', `${path}/${objectId}`), action, objectId }
  }
const deployment = async () => ({
  name: 'Audited',
  agent: (await send(service, 'POST /v1/agents', { body: { name: 'Audited', model: 'demo' } })).json<Agent>().id,
  environment_id: (await send(service, 'POST /v1/environments', { body: { name: 'Audited' } })).json<Agent>().id,
  initial_events: [{ type: 'user.message', content: [{ type: 'text', text: secret }] }],
})
const ofDeployment =
  (verb: string, line: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const made = await send(service, 'POST /v1/deployments', { body: await deployment() })
    const objectId = made.json<{ id: string }>().id
    const filled = line.replace('{id}', `/v1/deployments/${objectId}`)
    return { ...sent, line: filled, action: `managed_deployment.${verb}`, objectId }
  }
const ofMemoryStore =
  (verb: string, line: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const made = await send(service, 'POST /v1/memory_stores', { body: { name: 'Audited' } })
    const objectId = made.json<{ id: string }>().id
    const path = `/v1/memory_stores/${objectId}`
    const body = { path: '/a.md', content: secret }
    const memory = (await send(service, `POST ${path}/memories`, { body })).json<{ id: string }>().id
    const filled = line.replace('{id}', path).replace('{memory}', memory)
    return { ...sent, line: filled, action: `memory_store.${verb}`, objectId }
  }

/** One change a route of the contract, ready to be made. */
const changes: Readonly<Record<string, () => Promise<Change>>> = {
  'agents.create': async () => ({ line: 'POST /api/agents', body: agentFields, action: 'agent.create' }),
  'agents.update': ofAgent('update', 'PATCH /api/agents/{id}', { body: { ...agentFields, name: 'Renamed' } }),
  'agents.remove': ofAgent('delete', 'DELETE /api/agents/{id}'),
  'agents.pause': ofAgent('pause'),
  'agents.resume': ofAgent('resume'),
  'agents.archive': ofAgent('archive'),
  'agents.rollback': ofAgent('rollback', 'POST /api/agents/{id}/versions/1/rollback'),
  'agents.import': async () => ({
    line: 'POST /api/agents/import',
    body: (await send(service, `GET /api/agents/${await newAgent()}/export`)).json(),
    action: 'agent.import',
  }),
  'managed_agents.create': async () => ({
    line: 'POST /v1/agents',
    body: { name: 'Audited', model: 'scripted', system: secret },
    action: 'agent.create',
  }),
  'managed_agents.update': ofAgent('update', 'POST /v1/agents/{id}', { body: { name: 'After' } }),
  'managed_agents.archive': ofAgent('archive', 'POST /v1/agents/{id}/archive'),
  'environments.create': async () => ({
    line: 'POST /v1/environments',
    body: { name: 'Audited', description: secret, metadata: { note: secret } },
    action: 'environment.create',
  }),
  'environments.update': ofEnvironment('update', 'POST {id}', { body: { name: 'After' } }),
  'environments.archive': ofEnvironment('archive', 'POST {id}/archive'),
  'environments.remove': ofEnvironment('delete', 'DELETE {id}'),
  'managed_vaults.create': async () => ({
    line: 'POST /v1/vaults',
    body: { display_name: 'Audited', metadata: { note: secret } },
    action: 'managed_vault.create',
  }),
  'managed_vaults.update': ofVault('update', 'POST {id}', { body: { display_name: 'After' } }),
  'managed_vaults.archive': ofVault('archive', 'POST {id}/archive'),
  'managed_vaults.remove': ofVault('delete', 'DELETE {id}'),
  'vault_credentials.create': async () => ({
    line: `POST /v1/vaults/${await newVault()}/credentials`,
    body: credential,
    action: 'vault.set',
  }),
  'vault_credentials.update': ofCredential('vault_credential.update', 'POST {id}', { body: { display_name: 'After' } }),
  'vault_credentials.archive': ofCredential('vault.delete', 'POST {id}/archive'),
  'vault_credentials.remove': ofCredential('vault.delete', 'DELETE {id}'),
  'managed_deployments.create': async () => ({
    line: 'POST /v1/deployments',
    body: await deployment(),
    action: 'managed_deployment.create',
  }),
  'managed_deployments.update': ofDeployment('update', 'POST {id}', { body: { description: secret } }),
  'managed_deployments.pause': ofDeployment('pause', 'POST {id}/pause'),
  'managed_deployments.unpause': ofDeployment('unpause', 'POST {id}/unpause'),
  'managed_deployments.archive': ofDeployment('archive', 'POST {id}/archive'),
  'memory_stores.create': async () => ({
    line: 'POST /v1/memory_stores',
    body: { name: 'Audited', description: secret },
    action: 'memory_store.create',
  }),
  'memory_stores.update': ofMemoryStore('update', 'POST {id}', { body: { description: secret } }),
  'memory_stores.archive': ofMemoryStore('archive', 'POST {id}/archive'),
  'memory_stores.remove': ofMemoryStore('delete', 'DELETE {id}'),
  'memory_stores.create_memory': ofMemoryStore('create_memory', 'POST {id}/memories', {
    body: { path: '/b.md', content: secret },
  }),
  'memory_stores.update_memory': ofMemoryStore('update_memory', 'POST {id}/memories/{memory}', {
    body: { content: `${secret} changed` },
  }),
  'memory_versions.redact': async () => {
    const objectId = (await send(service, 'POST /v1/memory_stores', { body: { name: 'Audited' } })).json<Agent>().id
    const path = `/v1/memory_stores/${objectId}`
    const made = await send(service, `POST ${path}/memories`, { body: { path: '/a.md', content: secret } })
    const { id, memory_version_id } = made.json<{ id: string; memory_version_id: string }>()
    await send(service, `DELETE ${path}/memories/${id}`)
    const line = `POST ${path}/memory_versions/${memory_version_id}/redact`
    return { line, action: 'memory_store.redact_version', objectId }
  },
  'memory_stores.remove_memory': ofMemoryStore('delete_memory', 'DELETE {id}/memories/{memory}'),
  'skills.create': async () => ({
    line: 'POST /api/v1/skills',
    body: { name: 'Audited', content: secret },
    action: 'skill.create',
  }),
  'skills.import': async () => ({
    line: 'POST /api/v1/skills/import',
    body: { text: `---\nname: audited\n---\n${secret}` },
    action: 'skill.import',
  }),
  'skills.update': ofSkill('update', 'PATCH /api/v1/skills/{id}', { body: { content: `${secret} changed` } }),
  'stored_files.remove': async () => {
    const objectId = await newFile()
    return { line: `DELETE /v1/files/${objectId}`, action: 'file.delete', objectId }
  },
  'skills.remove': ofSkill('delete', 'DELETE /api/v1/skills/{id}'),
  'skill_folders.update': ofSkill('update', 'POST /v1/skills/{id}', { body: { default_version: '1' } }),
  'skill_folders.remove': ofSkill('delete', 'DELETE /v1/skills/{id}'),
  'skill_folders.remove_version': async () => {
    const objectId = await newSkill()
    await send(service, `PATCH /api/v1/skills/${objectId}`, { body: { content: 'new' } })
    return { line: `DELETE /v1/skills/${objectId}/versions/1`, action: 'skill.delete_version', objectId }
  },
  'skills.upgrade': async () => {
    const { agentId, skillId } = await carrying()
    await send(service, `PATCH /api/v1/skills/${skillId}`, { body: { content: 'new' } })
    return { line: `POST /api/v1/skills/${skillId}/upgrade`, action: 'agent.upgrade_skill', objectId: agentId }
  },
  'agent_skills.attach': async () => {
    const objectId = await newAgent()
    const body = { skill_id: await newSkill() }
    return { line: `POST ${agentSkill(objectId)}`, body, action: 'agent.attach_skill', objectId }
  },
  'agent_skills.detach': async () => {
    const { agentId } = await carrying()
    return { line: `DELETE ${agentSkill(agentId)}`, action: 'agent.detach_skill', objectId: agentId }
  },
  'keys.create': async () => ({ line: 'POST /api/keys', body: { label: 'made' }, action: 'key.create' }),
  'keys.update': ofKey('update', 'PATCH /api/keys/{id}', { body: { label: 'renamed' } }),
  'keys.rotate': ofKey('rotate', 'POST /api/keys/{id}/rotate', { body: { grace: '1h' } }),
  'keys.remove': ofKey('delete', 'DELETE /api/keys/{id}'),
  'providers.set': async () => ({
    line: 'PUT /api/providers/gemini',
    body: { api_key: secret },
    action: 'provider.set',
    objectId: 'gemini',
  }),
  'providers.remove': async () => {
    await send(service, 'PUT /api/providers/gemini', { body: { api_key: secret } })
    return { line: 'DELETE /api/providers/gemini', action: 'provider.delete', objectId: 'gemini' }
  },
  'model_settings.create': async () => ({ line: 'POST /api/models', body: newModel(), action: 'model.create' }),
  'model_settings.update': ofModel('update', 'PATCH /api/models/{id}', { body: { params: { weight: 2 } } }),
  'model_settings.remove': ofModel('delete', 'DELETE /api/models/{id}'),
  'usage.deleteBodies': async () => {
    const body = { log_bodies: { until: new Date(Date.now() + 3_600_000).toISOString() } }
    const { key } = (await send(service, 'POST /api/keys', { body })).json<ShownApiKey>()
    const call = { model: 'scripted', max_tokens: 100, messages: [{ role: 'user', content: secret }] }
    const answer = await send({ ...service, key }, 'POST /v1/messages', { body: call })
    const objectId = String(answer.headers['x-switchyard-request-id'])
    return { line: `DELETE /api/usage/calls/${objectId}/bodies`, action: 'call_bodies.delete', objectId }
  },
  'budgets.set': async () => ({
    line: 'PUT /api/budgets/owner/team',
    body: { max_budget: 5 },
    action: 'budget.set',
    objectId: 'owner:team',
  }),
  'controls.stop': async () => ({
    line: 'POST /v1/stop',
    body: { owner: 'nobody-runs' },
    action: 'work.stop',
    objectId: 'owner:nobody-runs',
  }),
  'controls.freeze': async () => ({ line: 'PUT /v1/freezes', body: { owner: 'frozen' }, action: 'freeze.set' }),
  'controls.unfreeze': async () => {
    const made = await send(service, 'PUT /v1/freezes', { body: { owner: 'thawing' } })
    const objectId = made.json<{ id: string }>().id
    return { line: `DELETE /v1/freezes/${objectId}`, action: 'freeze.delete', objectId }
  },
  'budgets.remove': async () => {
    await send(service, 'PUT /api/budgets/owner/going', { body: { max_budget: 5 } })
    return { line: 'DELETE /api/budgets/owner/going', action: 'budget.delete', objectId: 'owner:going' }
  },
  'users.create': async () => ({ line: 'POST /api/users', body: { name: 'Audited' }, action: 'user.create' }),
  'users.update': ofUser('update', 'PATCH', { body: { role: 'viewer' } }),
  'users.remove': ofUser('delete', 'DELETE'),
  'teams.create': async () => ({ line: 'POST /api/teams', body: { name: 'Audited' }, action: 'team.create' }),
  'teams.update': ofTeam('update', 'PATCH', { body: { models: ['scripted'] } }),
  'teams.remove': ofTeam('delete', 'DELETE'),
  'teams.add_member': ofMember('add_member', 'PUT', false),
  'teams.remove_member': ofMember('remove_member', 'DELETE', true),
  'memories.create': async () => ({
    line: `POST /api/v1/managed_agents/agents/${await newAgent()}/memory`,
    body: { text: secret },
    action: 'memory.create',
  }),
  'memories.update': ofMemory('update', 'PATCH {agent}/memory/{id}', { body: { text: 'Changed', disabled: true } }),
  'memories.remove': ofMemory('delete', 'DELETE {agent}/memory/{id}'),
  'memories.import': async () => {
    const objectId = await newAgent()
    const line = `POST /api/v1/managed_agents/agents/${objectId}/memories/import`
    return { line, body: { memories: [{ text: secret }] }, action: 'memory.import', objectId }
  },
  'schedules.create': async () => ({
    line: 'POST /api/schedules',
    body: { ...scheduled, agent_id: await newAgent() },
    action: 'schedule.create',
  }),
  'schedules.update': ofSchedule('update', 'PATCH /api/schedules/{id}', { body: { status: 'paused' } }),
  'schedules.remove': ofSchedule('delete', 'DELETE /api/schedules/{id}'),
  'datasets.create': async () => ({ line: 'POST /api/datasets', body: { name: 'Audited' }, action: 'dataset.create' }),
  'datasets.add': async () => {
    const { id } = await newDataset()
    const body = { cases: [{ prompts: ['Another'] }] }
    return { line: `POST /api/datasets/${id}/cases`, body, action: 'dataset.add_cases', objectId: id }
  },
  'datasets.remove_case': async () => {
    const { id, caseId } = await newDataset()
    return { line: `DELETE /api/datasets/${id}/cases/${caseId}`, action: 'dataset.remove_case', objectId: id }
  },
  'datasets.remove': async () => {
    const { id } = await newDataset()
    return { line: `DELETE /api/datasets/${id}`, action: 'dataset.delete', objectId: id }
  },
  'experiments.create': async () => ({
    line: 'POST /api/experiments',
    body: { dataset_id: (await newDataset()).id, agent_id: await newAgent() },
    action: 'experiment.create',
  }),
  'experiments.cancel': async () => {
    const objectId = await newExperiment()
    return { line: `POST /api/experiments/${objectId}/cancel`, action: 'experiment.cancel', objectId }
  },
  'experiments.remove': async () => {
    const objectId = await newExperiment()
    await send(service, `POST /api/experiments/${objectId}/cancel`)
    await eventually(async () => {
      const { json } = await send(service, `GET /api/experiments/${objectId}`)
      return json<{ ended_at: string | null }>().ended_at !== null
    })
    return { line: `DELETE /api/experiments/${objectId}`, action: 'experiment.delete', objectId }
  },
  'webhook_endpoints.create': async () => ({
    line: 'POST /api/webhook-endpoints',
    body: receiver,
    action: 'webhook_endpoint.create',
  }),
  'webhook_endpoints.update': ofEndpoint('update', 'PATCH /api/webhook-endpoints/{id}', { body: { status: 'paused' } }),
  'webhook_endpoints.remove': ofEndpoint('delete', 'DELETE /api/webhook-endpoints/{id}'),
  'webhook_endpoints.rotate': ofEndpoint('rotate', 'POST /api/webhook-endpoints/{id}/rotate', { body: {} }),
  'runtime_harnesses.create': async () => {
    const body = { ...newHarness(), api_key: secret }
    const line = 'POST /api/runtime-harnesses'
    return { line, body, action: 'runtime_harness.create', objectId: body.alias }
  },
  'runtime_harnesses.update': ofHarness('update', 'PUT', { body: { display_name: 'Renamed', api_key: secret } }),
  'runtime_harnesses.remove': ofHarness('delete', 'DELETE'),
  'agent_runtimes.connect': async () => ({ ...connecting, action: 'runtime.connect', objectId: 'cursor' }),
  'agent_runtimes.disconnect': async () => {
    await send(service, connecting.line, { body: connecting.body })
    const line = 'DELETE /api/agent-runtimes/cursor/credentials'
    return { line, action: 'runtime.disconnect', objectId: 'cursor' }
  },
  'mcp.create': async () => {
    const body = newMcpServer()
    const line = 'POST /v1/mcp/server'
    return { line, body, action: 'mcp_server.create' }
  },
  'mcp.update': ofMcpServer('update', 'PUT', { body: { credentials: { auth_value: secret } } }),
  'mcp.remove': ofMcpServer('delete', 'DELETE'),
  'vault.set': async () => ({
    line: 'POST /api/vault',
    body: { key: 'AUDITED', value: secret },
    action: 'vault.set',
    objectId: 'AUDITED',
  }),
  'vault.remove': async () => {
    await send(service, 'POST /api/vault', { body: { key: 'GOING', value: secret } })
    return { line: 'DELETE /api/vault/GOING', action: 'vault.delete', objectId: 'GOING' }
  },
}

/** Changing routes that change no configuration, with the reason. */
const exempt: readonly (readonly [ids: RegExp, reason: string])[] = [
  [/^(messages|openai|gemini)\./, 'model calls are in the ledger'],
  [/^batches\./, 'the calls of a batch are in the ledger'],
  [/^native\./, 'what is asked of providers is in the ledger'],
  [/^(sessions|managed_sessions|dialect_sessions)\./, 'sessions and prompts have a log of their own'],
  [/^memories[.]mcp$/, 'what its tool saves is an entry of its own'],
  [/^managed_deployments[.]run$/, 'a run is in the list of runs'],
  [/^schedules[.]trigger$/, 'a run is in the history of its schedule'],
  [/^deployments[.]end_cooldown$/, 'needs a deployment that cools down: test/e2e/deployments.test.ts'],
  [/^schedules[.]preview$/, 'it stores nothing'],
  [/^webhook_endpoints[.](test|replay)$/, 'they send and change no setting'],
  [/^providers[.]test$/, 'it asks a provider and changes nothing'],
  [/^(runtime_harnesses|agent_runtimes)[.]test$/, 'it asks a runtime and changes no setting'],
  [/^mcp[.]accept$/, 'needs a server whose tools change: src/server/mcp/tools/tools.test.ts'],
  [
    /^mcp[.](authorize|logout|complete_login)$/,
    'they need an authorization server: src/server/mcp/login/login.test.ts',
  ],
  [
    /^mcp[.](test|call)$|^mcp_(proxy|aggregate)\.|^vault_credentials[.]validate$/,
    'they call a tool server and change no setting',
  ],
  [/^(webhooks|deliveries)\./, 'deliveries have a log of their own'],
  [/^ag_ui\./, 'what it runs is in the log of the session'],
  [/^opencode\./, 'what it answers is in the log of the session'],
  [/^console\./, 'signing in changes no setting'],
  [/^session_threads\./, 'the end of a thread is in the log of the session that called it'],
  [/^approvals\./, 'who allowed what is in the approval and in the log of its session'],
  [/^custom_tools\./, 'the result of a call is in the log of its session'],
  [/^files\./, 'changed files are in the log of their session'],
  [/^stored_files\.upload$/, 'it takes a form; files.test.ts of the server checks its entry'],
  [/^skill_folders\.create/, 'they take a form; versions.test.ts of the skills checks their entries'],
  [/^(a2a|mcp_own)\./, 'tasks are prompts of sessions, which have their event log'],
  [/^events\./, 'events are such a log; a ticket opens one stream for a minute'],
]

const changing = allRoutes.filter(({ method }) => method !== 'GET')
const isExempt = (id: string) => exempt.some(([ids]) => ids.test(id))

const entriesOf = async (query: string): Promise<AuditEntry[]> =>
  (await send(service, `GET /api/audit?limit=200&${query}`)).json<{ entries: AuditEntry[] }>().entries
const everyEntry = () => entriesOf('')
/** Id of the object that a request made. */
const idIn = (answer: Answered): string | undefined => {
  const { id, server_id } = answer.json<{ id?: string; server_id?: string }>()
  return id ?? server_id
}
const requestIdOf = ({ headers }: Answered) => headers['request-id']

test('S55: every changing route is either audited or listed as one that changes no configuration', () => {
  const audited = changing.map(({ id }) => id).filter(id => !isExempt(id))
  assert.deepEqual(Object.keys(changes).sort(), audited.sort())
  for (const [ids, reason] of exempt) {
    assert.ok(
      changing.some(({ id }) => ids.test(id)),
      `nothing is exempt because ${reason}`,
    )
  }
})

for (const { id, body, path } of changing.filter(route => !isExempt(route.id))) {
  test(`S55: ${id} is one entry in the log, with who asked and what it was about`, async () => {
    const { line, action, objectId, ...sent } = (await changes[id]?.()) ?? assert.fail(`no change is written for ${id}`)
    const before = await everyEntry()
    const answer = await send(service, line, sent)
    assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
    const added = (await everyEntry()).filter(({ id: entryId }) => before.every(known => known.id !== entryId))
    assert.equal(added.length, 1, JSON.stringify(added))
    const [entry] = added
    assert.deepEqual(
      { ...entry, id: '', created_at: '', owner_id: '', before: null, after: null },
      {
        id: '',
        created_at: '',
        principal: 'master',
        role: 'admin',
        key_id: null,
        address: '127.0.0.1',
        request_id: requestIdOf(answer),
        action,
        object_id: objectId ?? idIn(answer),
        owner_id: '',
        before: null,
        after: null,
      },
    )
  })

  test(`S55: ${id} leaves no entry when it is rejected`, async () => {
    const { line, ...sent } = (await changes[id]?.()) ?? assert.fail(`no change is written for ${id}`)
    const before = await everyEntry()
    const unauthorized = await send({ url: service.url, key: 'sk-nobody' }, line, sent)
    assert.equal(unauthorized.status, 401)
    if (body) assert.equal((await send(service, line, { body: '{' })).status, 400)
    const missing = line.replace(
      /(calls|agents|environments|vaults|memory_stores|deployments|keys|users|teams|vault|providers|models|skills|schedules|webhook-endpoints|datasets|experiments|runtime-harnesses|agent-runtimes|mcp\/server)\/[^/]+/,
      '$1/nothing',
    )
    if (missing !== line && path.includes('{')) assert.equal((await send(service, missing, sent)).status, 404)
    assert.equal((await everyEntry()).length, before.length)
  })
}

test('a change with a virtual key names the key', async () => {
  const made = await send(service, 'POST /api/keys', { body: { label: 'second', owner_id: 'team' } })
  const { id, key } = made.json<{ id: string; key: string }>()
  const agent = (await send({ url: service.url, key }, 'POST /api/agents', { body: agentFields })).json<Agent>()
  const [entry] = await entriesOf(`object_id=${agent.id}`)
  assert.deepEqual([entry?.principal, entry?.role, entry?.key_id], ['team', 'user', id])
})

test('a creation that is repeated under its Idempotency-Key is one entry', async () => {
  const sent = { headers: { 'idempotency-key': 'audited-once' }, body: agentFields }
  const answers = await Promise.all(Array.from({ length: 4 }, () => send(service, 'POST /api/agents', sent)))
  const [first] = answers
  const { id } = first?.json<Agent>() ?? assert.fail('no answer')
  assert.equal((await entriesOf(`object_id=${id}`)).length, 1)
})

test('a change of an agent shows its fields before and after; long texts as digest and size, never as they are', async () => {
  const id = await newAgent()
  const system = 'A much longer prompt that only the owner reads.'
  await send(service, `PATCH /api/agents/${id}`, {
    body: { ...agentFields, name: 'After', system, tools: [{ type: 'mcp', auth: secret }], config: { note: secret } },
  })
  const [update, create] = await entriesOf(`object_id=${id}`)
  assert.equal(create?.before, null)
  assert.equal(create?.owner_id, 'team')
  assert.deepEqual(update?.before, create?.after)
  const { name, version, status, model, system: prompt } = update?.after ?? {}
  assert.deepEqual([name, version, status, model], ['After', 2, 'active', 'scripted'])
  assert.deepEqual(Object.keys(prompt ?? {}), ['sha256', 'bytes'])
  assert.equal((prompt as { bytes: number }).bytes, Buffer.byteLength(system))
  assert.doesNotMatch(JSON.stringify([update, create]), new RegExp(`${system}|${agentFields.system}|${secret}`))
})

test('no entry holds a secret that a change carried', async () => {
  const csv = await send(service, 'GET /api/audit?format=csv')
  assert.ok(csv.text.split('\r\n').length > 20)
  assert.ok(!csv.text.includes(secret))
  assert.doesNotMatch(csv.text, /sk-[\w-]{20}/)
})
