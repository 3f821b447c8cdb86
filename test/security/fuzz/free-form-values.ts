const alwaysAsk = { type: 'always_ask' }
const answerSchema = {
  type: 'object',
  properties: { total: { type: 'number', minimum: 0 }, names: { type: 'array', items: { type: 'string' } } },
  required: ['total'],
}

/** Values of fields that the document describes as any JSON, since the service checks them in code. Mutations start from them. */
export const freeForm: Readonly<Record<string, readonly unknown[]>> = {
  config: [
    {
      max_turns: 20,
      time_limit_seconds: 60,
      busy_mode: 'steer',
      session_max_budget: 1.5,
      max_tokens: 1_000,
      agents: ['{agent_id}', { agent_id: '{agent_id}', budget_share: 0.5, max_parallel: 2 }],
      custom_tool_timeout_seconds: 60,
      pinned_version: 1,
    },
    {
      model_settings: {
        effort: 'low',
        thinking: { type: 'enabled', budget_tokens: 4_096 },
        temperature: 0.5,
        top_p: 0.9,
        max_tokens: 500,
        fallbacks: ['demo', 'echo'],
      },
      context: { max_input_tokens: 10_000, kept_tokens: 1_000 },
      output_schema: answerSchema,
    },
    {
      webhook: {
        secret_key: 'FUZZ_HOOK',
        signature: { preset: 'github', secret_key: 'GITHUB_SECRET', mode: 'instead' },
        events: ['issues.opened', { field: 'sender.type', not_in: ['Bot'] }, { header: 'x-event', in: ['a'] }],
        template: '{{repository.full_name}}#{{issue.number}} {{issue.title}}',
        conversation: 'github-issue',
        rpm_limit: 60,
        files: { each: 'mail.attachments', data: 'content', name: 'filename', media_type: 'type' },
        reply: { type: 'callback', secret_key: 'CALLBACK', url: 'https://x.invalid/reply' },
      },
    },
    {
      network: {
        type: 'limited',
        presets: ['npm', 'github'],
        allowed_hosts: ['api.example.com', '*.example.org', { host: 'x.example.com', ports: [8443], methods: ['GET'] }],
        secrets: [{ vault_key: 'TOKEN', host: 'api.example.com', header: 'authorization', auth_type: 'bearer_token' }],
        allow_package_managers: true,
        allow_mcp_servers: true,
      },
      sandbox: { setup: ['true'], image: 'debian:13' },
      a2a: { enabled: true, public_card: true },
      approvals: { approvers: ['admin', '{key_id}'], expires_in: '12h' },
      mcp_servers: ['tickets', { name: 'docs', url: 'https://mcp.example.com/mcp' }],
      memories: { max_bytes: 1_000, enabled: true },
    },
  ],
  tools: [
    [
      { type: 'agent_toolset_20260401', default_config: { permission_policy: alwaysAsk } },
      { type: 'todo_write' },
      { type: 'web_fetch', permission_policy: alwaysAsk },
      { type: 'mcp_toolset', mcp_server_name: 'tickets', configs: [{ name: 'search', enabled: false }] },
    ],
    [
      {
        type: 'custom',
        name: 'read_file',
        description: 'Reads a document',
        input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
        timeout_seconds: 60,
      },
    ],
    { agent_toolset_20260401: true },
  ],
  environment: [
    {
      repository: 'https://git.invalid/acme/shop',
      ref: 'main',
      auto_create_pr: true,
      submodules: false,
      commit_author: { name: 'A', email: 'a@example.com' },
    },
  ],
  output_schema: [answerSchema, { $ref: '#' }, { type: 'string', pattern: '(a+)+$' }],
  metadata: [{ team: 'blue' }],
  contents: [
    [
      { role: 'user', parts: [{ text: 'Hello' }, { inlineData: { mimeType: 'image/png', data: 'aGVsbG8=' } }] },
      { role: 'model', parts: [{ functionCall: { name: 'look', args: { at: 1 } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'look', response: { ok: true } } }] },
    ],
  ],
  messages: [
    [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Seen' }] },
    ],
    [
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,aGVsbG8=' } }] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'Seen' },
    ],
  ],
  input: [
    'Hello',
    [
      { role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":1}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'Seen' },
    ],
  ],
  params: [{ model: 'openai/gpt-5.2', api_key: 'sk-sample-0123456789', api_base: 'https://x.invalid/v1' }],
  payload: [{ action: 'opened', issue: { title: 'Broken', number: 3 }, sender: { type: 'User' } }],
}
