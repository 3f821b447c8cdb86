import type {
  ApiKeyHashTable,
  ApiKeyTable,
  AuditLogTable,
  IdempotencyKeyTable,
  ServiceSecretTable,
  VaultEntryTable,
} from './tables/access.ts'
import type {
  AgentTable,
  AgentVersionTable,
  EnvironmentTable,
  MemoryTable,
  SessionMemoriesTable,
  SkillTable,
} from './tables/agents.ts'
import type {
  DeploymentTable,
  ProviderCredentialTable,
  ResponseCacheTable,
  ResponseContentTable,
  ResponseTable,
} from './tables/gateway.ts'
import type {
  McpAuthorizationTable,
  McpCallTable,
  McpLoginTable,
  McpServerStateTable,
  McpServerTable,
} from './tables/mcp.ts'
import type { RuntimeCredentialTable, RuntimeHarnessTable, RuntimeHealthTable } from './tables/runtimes.ts'
import type {
  DialectSessionTable,
  PromptTable,
  ReplicaTable,
  SessionEventTable,
  SessionMetadataTable,
  SessionTable,
  StreamTicketTable,
} from './tables/sessions.ts'
import type { BudgetTable, FreezeTable, ReservationTable, ToolCallTable, UsageTable } from './tables/spending.ts'
import type {
  A2aPushConfigTable,
  ScheduleRunTable,
  ScheduleTable,
  WebhookConversationTable,
  WebhookCountTable,
  WebhookCursorTable,
  WebhookDeliveryTable,
  WebhookEndpointDeliveryTable,
  WebhookEndpointSecretTable,
  WebhookEndpointTable,
  WebhookPayloadTable,
} from './tables/triggers.ts'
import type {
  FileTable,
  ProviderFileTable,
  SessionFileTable,
  WorkspaceBlobTable,
  WorkspaceCheckpointTable,
  WorkspaceObjectTable,
  WorkspaceRefTable,
} from './tables/workspaces.ts'

/** Every table of the migrations, for Kysely. int8 is a number, timestamptz a Date (see `createPool`). */
export interface Database {
  agents: AgentTable
  agent_versions: AgentVersionTable
  skills: SkillTable
  sessions: SessionTable
  workspace_checkpoints: WorkspaceCheckpointTable
  workspace_blobs: WorkspaceBlobTable
  workspace_refs: WorkspaceRefTable
  session_files: SessionFileTable
  files: FileTable
  provider_files: ProviderFileTable
  workspace_objects: WorkspaceObjectTable
  prompts: PromptTable
  session_events: SessionEventTable
  stream_tickets: StreamTicketTable
  usage: UsageTable
  tool_calls: ToolCallTable
  schedules: ScheduleTable
  schedule_runs: ScheduleRunTable
  webhook_endpoints: WebhookEndpointTable
  webhook_endpoint_secrets: WebhookEndpointSecretTable
  webhook_cursors: WebhookCursorTable
  a2a_push_configs: A2aPushConfigTable
  webhook_endpoint_deliveries: WebhookEndpointDeliveryTable
  idempotency_keys: IdempotencyKeyTable
  vault_entries: VaultEntryTable
  service_secrets: ServiceSecretTable
  provider_credentials: ProviderCredentialTable
  deployments: DeploymentTable
  runtime_credentials: RuntimeCredentialTable
  runtime_harnesses: RuntimeHarnessTable
  runtime_health: RuntimeHealthTable
  mcp_servers: McpServerTable
  mcp_server_states: McpServerStateTable
  mcp_calls: McpCallTable
  mcp_authorizations: McpAuthorizationTable
  mcp_logins: McpLoginTable
  audit_log: AuditLogTable
  api_keys: ApiKeyTable
  api_key_hashes: ApiKeyHashTable
  budgets: BudgetTable
  freezes: FreezeTable
  reservations: ReservationTable
  webhook_deliveries: WebhookDeliveryTable
  webhook_payloads: WebhookPayloadTable
  webhook_counts: WebhookCountTable
  responses: ResponseTable
  response_contents: ResponseContentTable
  response_cache: ResponseCacheTable
  webhook_conversations: WebhookConversationTable
  memories: MemoryTable
  session_memories: SessionMemoriesTable
  environments: EnvironmentTable
  dialect_sessions: DialectSessionTable
  session_metadata: SessionMetadataTable
  replicas: ReplicaTable
}
