/** A group of operations in the OpenAPI document. */
export interface Tag {
  readonly name: string
  readonly description: string
}

/** Every tag of the OpenAPI document. Those that the interface names come first, in its order. Interface: What the service does, 9. */
export const tags = [
  {
    name: 'System',
    description:
      'Health checks for load balancers, the capabilities of this service, this reference and its OpenAPI document.',
  },
  {
    name: 'Models',
    description:
      'The models that a key may call, with context window, prices and the state of their deployments. Admins add, change and remove models at run time.',
  },
  {
    name: 'Messages',
    description:
      'Anthropic’s Messages API on every configured model. When the provider speaks the same format, the request and the answer pass through byte for byte; otherwise they are translated.',
  },
  {
    name: 'Agents',
    description:
      'An agent is a runtime, a model and a system prompt under one id. Every change makes a new version, which can be compared, pinned and rolled back.',
  },
  {
    name: 'Sessions',
    description:
      'A session is a durable run of an agent: a queue of prompts, a log of events without gaps, a folder of files. A killed process loses no prompt and no event; another process continues the run.',
  },
  {
    name: 'Runtimes',
    description:
      'A runtime runs the agent loop: the built-in one, Cursor, Claude Managed Agents, an opencode server, or a program that speaks the Agent Client Protocol. Harnesses are registered runtimes with an alias.',
  },
  {
    name: 'API Keys',
    description:
      'Virtual keys for people and programs, with models, budgets, rate limits and expiry. Only an admin may create and change them.',
  },
  {
    name: 'MCP',
    description:
      'Tool servers of the Model Context Protocol: registered once, with their credentials, and called by any client through this service.',
  },
  {
    name: 'Users',
    description: 'People and service accounts: who may sign in and whose keys work, as admin, member or viewer.',
  },
  {
    name: 'Teams',
    description: 'Groups of users that share objects, a budget and a list of models.',
  },
  {
    name: 'Console',
    description:
      'What the web console needs besides the rest of this API: signing in with a key, and who is signed in.',
  },
  {
    name: 'OpenAI',
    description:
      'OpenAI’s Chat Completions, Responses, embeddings, images, audio and moderation, and rerank, on every configured model that can serve them.',
  },
  {
    name: 'Stored files',
    description:
      'Files for model requests, prompts of sessions and batches, in the formats of Anthropic and OpenAI. A file belongs to the principal of the key that uploaded it.',
  },
  { name: 'Gemini', description: 'Google’s Gemini API on every configured model, under `/v1beta` and `/v1`.' },
  {
    name: 'Provider APIs',
    description:
      'The provider’s own API, unchanged: everything below the prefix is forwarded with the stored credential. A virtual key needs the provider in its `passthrough` list.',
  },
  { name: 'Memories', description: 'Text snippets that an agent receives at the start of its sessions.' },
  {
    name: 'Skills',
    description:
      'Instructions that several agents share: attached to the system prompt, detached, upgraded in one call.',
  },
  {
    name: 'Webhooks',
    description:
      'Requests of other programs that start a session: verified, filtered, turned into a prompt by a template, stored once.',
  },
  {
    name: 'opencode',
    description:
      'The paths that opencode’s SDK and `opencode attach` call besides those of Sessions. They act on the same sessions.',
  },
  {
    name: 'Managed Agents',
    description:
      'Anthropic’s Managed Agents API: `@anthropic-ai/sdk` manages agents, environments and sessions of this service unchanged.',
  },
  {
    name: 'A2A',
    description:
      'The Agent2Agent protocol, version 1.0: other agents send messages to agents of this service, by JSON-RPC or HTTP+JSON, once an agent has `config.a2a.enabled`.',
  },
  { name: 'Approvals', description: 'Tool calls that wait for a person to allow or deny them.' },
  { name: 'Custom tools', description: 'Calls of tools that your own program runs, and their answers.' },
  {
    name: 'Schedules',
    description: 'Cron expressions with a time zone that queue a prompt, once per tick over all replicas.',
  },
  {
    name: 'Webhook Endpoints',
    description:
      'Addresses that receive the events of sessions: signed, in order for each session, retried until delivered.',
  },
  {
    name: 'Budgets',
    description: 'Spending limits of keys, owners, agents, sessions and teams, and what is spent and reserved in each.',
  },
  {
    name: 'Kill switches',
    description: 'What runs now and what it costs a minute; stopping it; freezing what may be spent.',
  },
  {
    name: 'Vault',
    description: 'Encrypted secrets that agents and harnesses refer to by name. Values are never returned.',
  },
  { name: 'Audit', description: 'Who changed what, and when.' },
  {
    name: 'Usage',
    description:
      'One row per model call, and reports of cost, tokens and latency by model, key, owner, agent or session.',
  },
  { name: 'Providers', description: 'Credentials of model providers, stored encrypted at run time, and their tests.' },
] as const satisfies readonly Tag[]

export type TagName = (typeof tags)[number]['name']

/** The chapters of the reference, with their tags. */
export const tagGroups: readonly { readonly name: string; readonly tags: readonly TagName[] }[] = [
  { name: 'Gateway', tags: ['Messages', 'OpenAI', 'Stored files', 'Gemini', 'Models', 'Providers', 'Provider APIs'] },
  { name: 'Agents', tags: ['Agents', 'Memories', 'Skills', 'MCP'] },
  { name: 'Sessions', tags: ['Sessions', 'Approvals', 'Custom tools'] },
  { name: 'Triggers', tags: ['Webhooks', 'Schedules', 'Webhook Endpoints'] },
  { name: 'Runtimes', tags: ['Runtimes'] },
  { name: 'Access', tags: ['API Keys', 'Users', 'Teams', 'Budgets', 'Vault'] },
  { name: 'Operations', tags: ['System', 'Console', 'Usage', 'Audit', 'Kill switches'] },
  { name: 'Compatibility', tags: ['Managed Agents', 'opencode', 'A2A'] },
]
