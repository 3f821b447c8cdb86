// What the generated configuration reference states about each setting. The key is the path in the file, with `[]` for
// the entries of a list and `<name>` for names of the operator's own.

import { apiSpecs } from '../src/contract/runtimes.ts'
import { providers } from '../src/server/config/providers.ts'

/** Meaning, and the value when absent. */
export type SettingText = readonly [meaning: string, absent?: string]

/** Returns the variables of provider keys. */
function keyVariables(): Record<string, SettingText> {
  const rows = Object.entries(providers).flatMap(([provider, { keyVariable }]) => {
    const text: SettingText = [`Enables \`${provider}/*\` when the file has no \`model_list\``, 'none']
    return keyVariable === undefined ? [] : [[keyVariable, text] as const]
  })
  return Object.fromEntries(rows)
}

/** Environment variables. */
export const variables: Readonly<Record<string, SettingText>> = {
  GATEWAY_MASTER_KEY: [
    'The key that callers must send. Without it the service listens on loopback and accepts [no web page of another origin](../configuration.md#without-a-key)',
    'none',
  ],
  PORT: ['TCP port', '4000'],
  HOST: ['Address to listen on', '`127.0.0.1` without a master key, else `0.0.0.0`'],
  DATABASE_URL: ['An external PostgreSQL, 15 or newer', 'the embedded one'],
  SWITCHYARD_DATA_DIR: [
    'Folder of the embedded database and of the files of sessions',
    '`/var/lib/switchyard` as root, else `~/.local/share/switchyard`',
  ],
  SWITCHYARD_ENCRYPTION_KEY: [
    '32 bytes in base64 that [encrypt secrets](../secrets.md#master-key-and-encryption-key); several separated by commas: the first encrypts, all decrypt. Replicas must share them',
    'a file of the data folder, generated once',
  ],
  SWITCHYARD_CONFIG: ['The configuration file, also `--config`', 'none'],
  SWITCHYARD_ROLE: [
    '`all`; `api` serves requests and runs no sessions; `worker` runs sessions, schedules and sweeps and serves only `/health*` and `/metrics`',
    '`all`',
  ],
  WORKERS: [
    '[Processes](../operations.md#several-processes-on-one-machine) of this machine behind the port, 1 to 256',
    '1',
  ],
  SWITCHYARD_DRAIN_DELAY_MS: [
    'How long the service serves after SIGTERM with readiness at 503; not used without other replicas',
    '5000',
  ],
  LOG_LEVEL: ['`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`', '`info`'],
  ...keyVariables(),
  OLLAMA_HOST: ['Enables `ollama/*` at this address when the file has no `model_list`', 'none'],
}

const params = 'model_list[].params'

/** Keys of the configuration file. */
export const settings: Readonly<Record<string, SettingText>> = {
  general_settings: ['Settings of the service'],
  'general_settings.master_key': ['The master key; wins over `GATEWAY_MASTER_KEY`', 'the variable'],
  'general_settings.public_url': [
    'Where clients reach the service: http or https, without a query',
    '`http://HOST:PORT` of the listening address',
  ],
  'general_settings.console': [
    'Builds and serves the [web console](../console.md); `false`: `/` redirects to the API reference',
    'true',
  ],
  'general_settings.approval_links': [
    'Where [signed links of approvals](../approvals.md#signed-links) are sent: `webhook_endpoints`, `replies`. Requires `public_url`',
    'none',
  ],
  'general_settings.trust_proxy': ['Networks of the proxies in front of it, in CIDR notation', 'none'],

  sign_in: ['[Signing in](../teams.md#set-up-single-sign-on) to the console besides a key'],
  'sign_in.oidc': ['An identity provider with OpenID Connect'],
  'sign_in.oidc.issuer': ['Address of the provider, as in its tokens', 'required'],
  'sign_in.oidc.name': ['Name on the button of the sign-in page', '`single sign-on`'],
  'sign_in.oidc.client_id': ['Client at the provider', 'required'],
  'sign_in.oidc.client_secret': ['Secret of the client', 'none, for a public client'],
  'sign_in.oidc.client_secret_vault_key': ['Global vault entry with the secret, instead of `client_secret`', 'none'],
  'sign_in.oidc.scopes': ['Scopes; `openid` must be one of them', '`openid`, `profile`, `email`'],
  'sign_in.oidc.claims': ['Names of claims'],
  'sign_in.oidc.claims.owner': [
    'Owner of a new user; people must not be able to change it',
    'none: the id of the user',
  ],
  'sign_in.oidc.claims.email': ['Email address, used when `email_verified` is true', '`email`'],
  'sign_in.oidc.claims.name': ['Name', '`name`'],
  'sign_in.oidc.claims.groups': ['Groups, for roles and teams', 'none'],
  'sign_in.oidc.allowed_domains': ['Domains of verified email addresses that may sign in', 'every account'],
  'sign_in.oidc.roles': ['Groups by role, set at each sign-in; `*` means everyone', 'roles are set through the API'],
  'sign_in.oidc.roles.admin': ['Groups of administrators', 'none'],
  'sign_in.oidc.roles.member': ['Groups of members', 'none'],
  'sign_in.oidc.roles.viewer': ['Groups of viewers', 'none'],
  'sign_in.oidc.default_role': ['Role of a new user without `roles`: `admin`, `member` or `viewer`', '`member`'],
  'sign_in.oidc.session_hours': ['Lifetime of a sign-in, at most 720', '12'],

  model_list: ['Models that clients can call. Several entries of one name share its calls by `weight`'],
  'model_list[].model_name': [
    'The name that clients send; `<provider>/*` and other wildcards match many names',
    'required',
  ],
  [params]: ['The deployment behind the name'],
  [`${params}.model`]: ['`<provider>/<upstream id>`', 'required'],
  [`${params}.base_model`]: [
    'The model behind `model`, for [names of your own](../configuration.md#models-with-names-of-your-own): `<model>` or `<provider>/<model>`',
    '`model`',
  ],
  [`${params}.capabilities`]: ['What the model can do', 'from its name and the price lists'],
  [`${params}.capabilities.reasoning`]: [
    '`false`: translated calls never request thinking, and `x-switchyard-degraded` reports what was requested; `true`: a model with an unknown name gets `low`, `medium` or `high`',
  ],
  [`${params}.capabilities.vision`]: ['Shown in `GET /v1/model/info`'],
  [`${params}.capabilities.pdf_input`]: ['Shown in `GET /v1/model/info`'],
  [`${params}.capabilities.function_calling`]: ['Shown in `GET /v1/model/info`'],
  [`${params}.capabilities.context_window`]: [
    'Limit in tokens; wins over every list. Sessions of the built-in runtime [fit into it](../sessions.md#context-window-and-compaction)',
  ],
  [`${params}.capabilities.max_output_tokens`]: ['Limit of one answer in tokens; wins over every list'],
  [`${params}.api_base`]: [
    'Address of the provider, with a path prefix if it has one',
    "the provider's own; required for `azure` and `openai-compatible`",
  ],
  [`${params}.api_key`]: ['Credential', "the provider's variable, for its own address only"],
  [`${params}.protocol`]: ['Pins one protocol for all calls'],
  [`${params}.protocols`]: [
    'Protocols of the provider, the default first: `anthropic-messages`, `openai-chat`, `openai-responses`, `gemini`, `bedrock-converse`, `bedrock-invoke`, `vertex-anthropic`. [Calls follow the format of the client](../gateway.md#passthrough-and-translation)',
    "the [provider's](../gateway.md#providers)",
  ],
  [`${params}.weight`]: ['Share of the calls in the group; 0 is used only when no other deployment is available', '1'],
  [`${params}.headers`]: ['More request headers; they win over the credential', 'none'],
  [`${params}.timeouts`]: ['Timeouts of a call'],
  [`${params}.timeouts.connect_ms`]: ['Connection', '5000'],
  [`${params}.timeouts.first_byte_ms`]: ['First byte of the response', '60000'],
  [`${params}.timeouts.idle_ms`]: ['Silence within a response', '60000'],
  [`${params}.timeouts.total_ms`]: ['Whole call', '600000'],
  [`${params}.timeout`]: ["Whole call in seconds, LiteLLM's name"],
  [`${params}.stream_timeout`]: ["First byte of a stream in seconds, LiteLLM's name"],
  [`${params}.rpm`]: [
    'Calls per minute, after which the router prefers other deployments. Each process counts its own calls and shares its count every second',
    'none',
  ],
  [`${params}.tpm`]: ['Tokens per minute, as `rpm`', 'none'],
  [`${params}.max_parallel`]: ['Concurrent calls of one process, as `rpm`', 'none'],
  [`${params}.input_cost_per_token`]: ['Price in US dollars', 'the [price lists](../configuration.md#prices)'],
  [`${params}.output_cost_per_token`]: ['Price in US dollars', 'the price lists'],
  [`${params}.cache_read_input_token_cost`]: ['Price in US dollars', 'the price lists'],
  [`${params}.cache_creation_input_token_cost`]: [
    'Price in US dollars of a cache write for 5 minutes',
    'the price lists',
  ],
  [`${params}.cache_creation_input_token_cost_above_1hr`]: [
    'Price in US dollars of a cache write for an hour',
    'the price lists',
  ],
  [`${params}.input_cost_per_character`]: [
    'Price in US dollars of speech; wins over prices per token',
    "OpenAI's for its models",
  ],
  [`${params}.input_cost_per_second`]: [
    'Price in US dollars of transcripts; wins over prices per token',
    "OpenAI's for its models",
  ],
  [`${params}.output_cost_per_image`]: ['Price in US dollars; wins over prices per token', "OpenAI's for its models"],
  [`${params}.input_cost_per_query`]: ['Price in US dollars of a search by rerank; wins over prices per token'],
  [`${params}.web_search_cost_per_query`]: [
    'Fee in US dollars of a web search that the provider runs',
    '[by provider](../configuration.md#fees-of-tools-that-the-provider-runs)',
  ],
  [`${params}.log_bodies`]: ['Recording of [bodies of calls](../usage.md#bodies-of-calls)', 'off'],
  [`${params}.log_bodies.until`]: ['End of the recording, such as `"2026-12-01T00:00:00Z"`', 'required'],
  [`${params}.aws_region_name`]: ['Bedrock: region'],
  [`${params}.aws_access_key_id`]: ['Bedrock: key that signs requests; `api_key` sends a Bedrock API key instead'],
  [`${params}.aws_secret_access_key`]: ['Bedrock: secret of that key'],
  [`${params}.aws_session_token`]: ['Bedrock: token of temporary credentials'],
  [`${params}.vertex_project`]: ['Vertex AI: project', "the account's project"],
  [`${params}.vertex_location`]: ['Vertex AI: location', '`global`'],
  [`${params}.vertex_credentials`]: ["Vertex AI: a service account's JSON, or the path of its file"],
  [`${params}.cache`]: ['The [response cache](../gateway.md#response-cache); the setting of a key wins', 'off'],
  [`${params}.cache.ttl`]: ['Lifetime of an entry, `1s` to `30d`', 'required'],
  [`${params}.deny`]: [
    'Fields that this provider rejects: paths of the body, or `header:<name of a beta>`',
    "the protocol's table",
  ],
  'model_list[].litellm_params': ["LiteLLM's name of `params`, with the same keys"],
  'model_list[].model_info': ["LiteLLM's block; other keys than `base_model` cause a warning"],
  'model_list[].model_info.base_model': ['Used in place of `params.base_model`'],

  mcp_servers: ['[MCP servers](../mcp.md#servers-of-the-configuration-file)'],
  'mcp_servers[].server_name': ['Letters, digits, `_` and `-`', 'required'],
  'mcp_servers[].alias': ['Another name', 'none'],
  'mcp_servers[].description': ['Text for people', 'none'],
  'mcp_servers[].url': ['Endpoint of the server', 'required with `http`'],
  'mcp_servers[].transport': ['`http`, or `stdio` for a program that the service starts', '`http`'],
  'mcp_servers[].command': ['Program of a `stdio` server: `node` or an absolute path', 'required with `stdio`'],
  'mcp_servers[].args': ['Arguments of the program; it can read the absolute paths among them', 'none'],
  'mcp_servers[].env': ['Environment of the program'],
  'mcp_servers[].vault_env': ['Variables with the names of global vault entries that hold their values'],
  'mcp_servers[].sandbox': ['`none` starts the program with the rights of the service', 'a sandbox'],
  'mcp_servers[].network': ['[Network](../network.md) of the program in its sandbox', 'none'],
  'mcp_servers[].network.type': ['`none`, `limited` or `unrestricted`', 'required'],
  'mcp_servers[].network.allowed_hosts': ['Hosts that it may reach'],
  'mcp_servers[].network.allowed_hosts[].host': ['Host, or `*.` and a domain', 'required'],
  'mcp_servers[].network.allowed_hosts[].ports': ['Ports of the host', '80 and 443'],
  'mcp_servers[].network.allowed_hosts[].methods': ['HTTP methods', 'all'],
  'mcp_servers[].network.presets': ['Hosts of package registries and of GitHub', 'none'],
  'mcp_servers[].network.allow_package_managers': ['The same as the preset `packages`', 'false'],
  'mcp_servers[].auth_type': ['`none`, `api_key`, `bearer_token`, `basic` or `authorization`', '`none`'],
  'mcp_servers[].auth_value': ['Credential', 'none'],
  'mcp_servers[].require_approval': [
    'Tools whose calls in sessions wait for a person: `always`, `never` or a list of names',
    '`never`',
  ],
  'mcp_servers[].vault_key': ['Name of a global vault entry with the credential', 'none'],
  'mcp_servers[].static_headers': ['Headers of every request'],
  'mcp_servers[].allowed_tools': ['The only tools that may be listed and called', 'all'],
  'mcp_servers[].disallowed_tools': ['Tools that may not be listed and called', 'none'],
  runtime_harnesses: ['[Runtimes](../runtimes.md#harnesses-of-the-configuration-file) beside the built-in ones'],
  'runtime_harnesses[].alias': ['The name that agents and sessions use', 'required'],
  'runtime_harnesses[].api_spec': [apiSpecs.map(spec => `\`${spec}\``).join(', '), 'required'],
  'runtime_harnesses[].api_base': ['Address of the server', "the provider's own"],
  'runtime_harnesses[].api_key': ['Credential', 'none'],
  'runtime_harnesses[].display_name': ['Name for people', 'the alias'],
  'runtime_harnesses[].command': ['Program that the service starts, for `acp` and `opencode`'],
  'runtime_harnesses[].env': ['Environment of the program'],
  'runtime_harnesses[].sandbox': ['`none` starts the program with the rights of the service', 'a sandbox'],

  outbound: ['Addresses that the service may call'],
  'outbound.allow': ['`host:port` of private addresses; the service calls no other private address', 'none'],

  limits: ['Limits of one process, unless stated otherwise'],
  'limits.max_streams': ['Model streams in flight; beyond it 529', '1000'],
  'limits.max_sessions': ['Sessions that run at once', '100'],
  'limits.session_events': ['Events of a log; beyond it the session runs no further prompt', '1000000'],
  'limits.session_bytes': ['The same in bytes of event payloads', '1000000000'],
  'limits.max_loop_delay_ms': ['Mean delay of the event loop over a second; beyond it new calls are 529', '50'],
  'limits.reserve_bytes_per_token': [
    'Bytes of a prompt that budgets count as a token; 1 never reserves too little',
    '1',
  ],
  'limits.reserve_server_tool_calls': [
    'Calls of a tool that the provider runs (web search ...) for which budgets reserve when the request sets no limit',
    '10',
  ],
  'limits.assumed_output_tokens_per_second': ['Output booked per second of a call without reported usage', '200'],
  'limits.response_cache_bytes': [
    'All entries of the response cache; the service evicts the oldest first',
    '1000000000',
  ],
  'limits.files_bytes': ['All [files](../files.md) of an owner; beyond it uploads are rejected', '10000000000'],
  'limits.reservation_s': ['How long reservations outlive a killed process, in seconds', '900'],
  'limits.tool_result_chars': [
    'Characters of a tool result in the context of a model; [a longer one](../tools.md#large-results) goes to a file of the workspace',
    '65536',
  ],
  'limits.tool_preview_chars': ['Characters of a longer result that the model sees at once', '16384'],
  'limits.allow_unrestricted_egress': [
    'Whether agents may have [`config.network.type: unrestricted`](../network.md)',
    '`false`',
  ],
  'limits.sandbox_cpus': ['Processors that a command of an agent may use', 'half of those of the machine, at least 1'],

  retention: [
    'How long data is kept: `30s`, `15m`, `12h`, `30d` or `never` (not deleted). [Tables](../operations.md#retention)',
  ],
  'retention.deleted_sessions': ['Events, messages and prompts of a session after its deletion', '`7d`'],
  'retention.deliveries': ['Deliveries of webhooks, received and sent', '`7d`'],
  'retention.sessions': ['Sessions without activity', '`never`'],
  'retention.files': ['[Files](../files.md) of callers, after their upload', '`never`'],
  'retention.bodies': ['Recorded bodies of calls', '`7d`'],
  'retention.ledger': ['The ledger of model calls', '`never`'],
  'retention.audit': ['The audit log', '`never`'],

  workspaces: ['Checkpoints of the files of sessions. The log of a session lists files beyond the limits'],
  'workspaces.store': ['`postgres` or `s3`: where the content of files is stored', '`postgres`'],
  'workspaces.s3': ['A bucket of an [object store](../operations.md#files-in-an-object-store)'],
  'workspaces.s3.endpoint': ['Address; the path names the bucket', 'required'],
  'workspaces.s3.bucket': ['Bucket', 'required'],
  'workspaces.s3.region': ['Region', '`us-east-1`'],
  'workspaces.s3.prefix': ['Start of every object key', 'empty'],
  'workspaces.s3.access_key_id': ['Access key', 'required'],
  'workspaces.s3.secret_access_key': ['Secret of the access key', 'required'],
  'workspaces.s3.session_token': ['Token of temporary credentials', 'none'],
  'workspaces.max_file_bytes': ['Size of one file', '67108864'],
  'workspaces.max_bytes': ['Size of all files of a session; the largest are left out first', '536870912'],
  'workspaces.max_files': ['Files, folders and links of a session', '20000'],

  responses: ['[Stored responses](../gateway.md#stored-responses) of `/v1/responses`'],
  'responses.store': ['`client`: as the request says; `never`: no contents are stored', '`client`'],

  git_hosts: ['[Hosts of repositories](../repositories.md#other-hosts) beside github.com, gitlab.com and codeberg.org'],
  'git_hosts[].host': ['Host as in the URLs of its repositories, with the port if they have one', 'required'],
  'git_hosts[].type': ['`github`, `gitlab` or `gitea` (also Forgejo): whose API opens pull requests', 'required'],
  'git_hosts[].api_base': ['Address of the API', '`https://` and the host, with `/api/v3`, `/api/v4` or `/api/v1`'],
  'git_hosts[].credential': ['Name of the vault entry with the credential', '`git.` and the host'],
  'git_hosts[].auth': ["`basic` or `bearer`: how git's requests carry the credential", '`basic`'],
  sandbox: ['[Where the commands and programs of agents run](../sandboxes.md)'],
  'sandbox.driver': ['`auto`, `bubblewrap`, `virtual`, `docker` or `kubernetes`', '`auto`'],
  'sandbox.image': ['Image of agents that name none', 'required with `docker` and `kubernetes`'],
  'sandbox.images': ['Other images that agents may name'],
  'sandbox.docker': ['[Docker Engine](../sandboxes.md#docker) for `driver: docker`'],
  'sandbox.docker.socket': ['Path of the socket of the engine', '`/var/run/docker.sock`'],
  'sandbox.docker.runtime': ['Runtime of the engine, such as `runsc`', 'that of the engine'],
  'sandbox.docker.user': ['User of commands, as `uid:gid`', 'the owner of the workspaces'],
  'sandbox.docker.proxy_image': [
    'Image with socat, which connects containers with the proxy of the network',
    '`sandbox.image`',
  ],
  'sandbox.docker.pull': ['`missing` pulls images that do not exist, `never` does not', '`missing`'],
  'sandbox.kubernetes': ['[Cluster](../sandboxes-kubernetes.md) for `driver: kubernetes`'],
  'sandbox.kubernetes.namespace': ['Namespace of the sandboxes', 'required'],
  'sandbox.kubernetes.workspaces': ['Volume with the workspaces folder of the service'],
  'sandbox.kubernetes.workspaces.claim': ['Persistent volume claim', 'required'],
  'sandbox.kubernetes.workspaces.sub_path': ['Path of the workspaces folder on the volume', 'its root'],
  'sandbox.kubernetes.service_account': ['Service account of the sandboxes; its token is not mounted', '`default`'],
  'sandbox.kubernetes.runtime_class': ['Runtime class of the pods', "the cluster's default"],
  'sandbox.kubernetes.node_selector': ['Labels of the nodes on which sandboxes run', 'all nodes'],
  'sandbox.kubernetes.pull_secrets': ['Secrets with credentials of the image registry', 'none'],
  'sandbox.kubernetes.api': ['Access to the API server'],
  'sandbox.kubernetes.api.server': ['Address that starts with `https://`', 'that of the cluster of the service'],
  'sandbox.kubernetes.api.token_file': ['File with the token', "that of the pod's service account"],
  'sandbox.kubernetes.api.ca_file': ['File with the certificate authority', "that of the pod's service account"],
  web_search: ['Provider of the [tool](../tools.md#web) `web_search`; without it the tool does not exist'],
  'web_search.provider': ['`brave`, `tavily` or `searxng`', 'required'],
  'web_search.api_key': ['Credential; required for `brave` and `tavily`', 'none'],
  'web_search.api_base': ['Address of the provider', "the provider's own; required for `searxng`"],

  log_sinks: ['[Receivers](../log-sinks.md) of the rows of the usage ledger'],
  'log_sinks[].name': ['Name of its progress and in the log: letters, digits, `_`, `-`', 'required'],
  'log_sinks[].type': ['`file`, `http` or `otlp`', 'required'],
  'log_sinks[].bodies_until': [
    'Sends [recorded bodies](../log-sinks.md#bodies) as well until this time, at most 90 days ahead, such as `"2026-12-01T00:00:00Z"`',
    'none',
  ],
  'log_sinks[].path': ['`file`: absolute path', 'required'],
  'log_sinks[].max_bytes': ['`file`: size at which it is rotated', '100000000'],
  'log_sinks[].max_age': ['`file`: age at which it is rotated, such as `12h` or `1d`', '`1d`'],
  'log_sinks[].keep': ['`file`: number of rotated files to keep', '30'],
  'log_sinks[].url': ['`http`, `otlp`: address to post to; of OTLP with the path `/v1/logs`', 'required'],
  'log_sinks[].format': ['`http`: `json` (an array) or `jsonl` (lines)', '`json`'],
  'log_sinks[].headers': ['`http`, `otlp`: more request headers', 'none'],
  'log_sinks[].bearer': ['`http`, `otlp`: token, such as `os.environ/SIEM_TOKEN`', 'none'],
  'log_sinks[].bearer_vault_key': ['`http`, `otlp`: global vault entry with the token', 'none'],
  hooks: ['[Programs](../hooks.md) that check model calls'],
  'hooks[].name': ['Name in errors and in the log: letters, digits, `_`, `-`', 'required'],
  'hooks[].url': ['Address that the gateway posts to', 'required'],
  'hooks[].phase': ['`pre` (before the call) or `post` (after the answer)', 'required'],
  'hooks[].timeout_ms': ['Limit of a request to the hook, at most 30000', '2000'],
  'hooks[].on_error': ['`block` or `allow`: what happens without a valid answer', '`block`'],
  'hooks[].models': ['Models whose calls it gets: names or `provider/*`', 'all'],
  'hooks[].keys': ['Ids of the virtual keys whose calls it gets', 'all'],
  'hooks[].buffer_stream': ['`post`: the gateway buffers a stream until the hook has answered', '`false`'],
  'hooks[].secret': ['`whsec_` and 24 to 64 bytes in base64, which signs requests', 'not signed'],

  router: ['[Routing](../gateway.md#when-a-provider-fails)'],
  'router.retries': ['Attempts after the first, in one group', '2'],
  'router.cooldown': ['When a deployment cools down'],
  'router.cooldown.failures': ['Failures within the window', '3'],
  'router.cooldown.window_s': ['The window in seconds', '60'],
  'router.cooldown.seconds': ['How long it cools down', '30'],
  'router.fallbacks': ['By model name: models to call when retries are used up', 'none'],
  'router.context_window_fallbacks': ['The same, when the prompt is too long', 'none'],
  'router.policy_fallbacks': [
    "The same, when the provider refuses by policy before any content, or the model's answer is only a refusal",
    'none',
  ],
  'router.sticky': ['Calls of one session stay with one deployment', '`true`'],

  logging: ['The log line of each request'],
  'logging.requests': ['Level of the line, or `off`', '`info`'],
  'logging.sample': ['Share of the requests that are logged, 0 to 1; 5xx always are', '1'],

  metrics: ['[Metrics](../observability.md#scrape-with-prometheus) for Prometheus'],
  'metrics.enabled': ['Counts and serves metrics at `/metrics`', '`true`'],
  'metrics.public': ['`/metrics` needs no key', '`false`'],
  'metrics.listen': [
    'Separate address that serves only the metrics, without a key, such as `127.0.0.1:9464`; each further process of `WORKERS` uses the next port',
    'none',
  ],

  telemetry: ['[Traces and logs](../observability.md#export-traces) for OpenTelemetry'],
  'telemetry.content': ['Spans contain messages, arguments and results of tools', '`false`'],
  'telemetry.otlp': ['The collector'],
  'telemetry.otlp.endpoint': [
    'Base URL of a collector that accepts OTLP over HTTP, such as `http://localhost:4318`',
    'nothing is exported',
  ],
  'telemetry.otlp.headers': ['Headers of each request, such as `authorization`', 'none'],
  'telemetry.otlp.logs': ['Also exports log lines', '`false`'],
  'telemetry.otlp.propagate': ['Upstreams get the trace context in `traceparent`', '`false`'],
  'telemetry.otlp.sample': ['Share of the traces that are exported, 0 to 1', '1'],

  prices: ['[Prices](../configuration.md#prices) of models'],
  'prices.import': [
    "Files beside this one: LiteLLM's `model_prices_and_context_window.json` or models.dev's `api.json`",
    'none',
  ],
  'prices.unknown': [
    '`refuse`: a call of a model without a known price is 403; `allow`: it is made, at an unknown cost',
    'it is made, but is 403 under a [budget](../budgets.md)',
  ],

  demo: ['The scripted model `demo`', '`true`'],
}
