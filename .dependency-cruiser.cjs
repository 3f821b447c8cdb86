// The import directions of docs/architecture.md. `npm run check` also fails when no module was examined.
const features =
  '^src/server/(a2a|ag-ui|system|usage|audit|keys|secrets|vault|budgets|contexts|controls|model-settings|gateway|litellm|log-sinks|agents|batches|files|managed-agents|egress|mcp|memories|memory-stores|opencode|runtimes|sandboxes|tools|schedules|sessions|sign-in|evaluations|skills|teams|telemetry|webhook-endpoints|webhook-replies|webhooks|workspaces)/'
const nouns = [
  'a2a/(questions|task-log|task-reading|task-store)',
  'agents/(agents|store|stored-agent)',
  'audit/audit',
  'budgets/(budgets|store)',
  'controls/freezes',
  'egress/(egress|inner-host|check-network|session-secrets)',
  'files/files',
  'gateway/(gateway|batching/batch-api|core/call|tokens/(estimate|token-counts))',
  'http/(caller|idempotency)',
  'keys/(keys|run-as|import|sign-in-keys|store)',
  'mcp/registry/servers',
  'mcp/agents/(agent-mcp|agent-mcp-check|credential-probe)',
  'memories/session-memories',
  'memory-stores/session-stores',
  'runtimes/(runtime|model-choice|conversation-text)',
  'sandboxes/(sandbox|sandboxes|check-sandbox|beneath|bounded-output|workspace-path)',
  'opencode/(messages|session)',
  'sessions/(sessions|next-prompt|waits/approvals|waits/custom-tool-calls|log/(event-store|following|live-events|remote-previews|conversation|log-page|run-answer))',
  'sign-in/claims',
  'teams/people',
  'telemetry/telemetry',
  'schedules/store',
  'webhooks/(webhooks|delivery-counts)',
  'webhook-replies/exchange',
  'tools/(tool|toolset|tool-source|own-sources|custom-tools|front-end|mcp-toolset|tool-search|searched-tools|subagents|large-results|media|memory-files|jobs|todo|replay)',
  'usage/(usage|store)',
  'vault/vault',
  'webhook-endpoints/send',
  'webhook-replies/replies',
  'workspaces/(workspaces|blobs|limits|files)',
].map(noun => `^src/server/${noun}\\.ts$`)

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'contract-imports-nothing-of-ours',
      severity: 'error',
      from: { path: '^src/contract/' },
      to: { path: '^src/', pathNot: '^src/contract/' },
    },
    {
      name: 'client-sees-only-the-contract',
      severity: 'error',
      from: { path: '^src/client/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(client|contract)/' },
    },
    {
      name: 'client-runs-in-browsers',
      comment:
        'The client and the contract are compiled into @switchyard-project/switchyard/client, which bundlers take for the browser.',
      severity: 'error',
      from: { path: '^src/(client|contract)/', pathNot: '\\.test\\.ts$' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'cli-reaches-the-server-only-to-start-or-examine-it',
      severity: 'error',
      from: {
        path: '^src/cli/',
        pathNot:
          '^src/cli/(serve|second-start|doctor|import|migrate|secrets|backup|restore|local-service|worker)\\.ts$|\\.test\\.ts$',
      },
      to: { path: '^src/server/' },
    },
    {
      name: 'platform-and-db-are-leaves',
      severity: 'error',
      from: { path: '^src/server/(platform|db)/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/', pathNot: '^src/server/(platform|db)/|^src/contract/' },
    },
    {
      name: 'platform-knows-no-database',
      severity: 'error',
      from: { path: '^src/server/platform/' },
      to: { path: '^src/server/db/' },
    },
    {
      name: 'http-knows-no-feature',
      severity: 'error',
      from: { path: '^src/server/http/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/', pathNot: '^src/server/(http|platform)/|^src/contract/' },
    },
    {
      name: 'a-feature-sees-another-only-through-its-noun-files',
      severity: 'error',
      from: { path: features, pathNot: '\\.test\\.ts$' },
      to: { path: features, pathNot: ['^src/server/$1/', ...nouns] },
    },
    {
      name: 'a-feature-sees-another-only-as-types',
      comment:
        'Wiring happens in compose/. The tools, the runtime contract, the estimate of tokens and the readings of a log are libraries.',
      severity: 'error',
      from: { path: features, pathNot: '\\.test\\.ts$' },
      to: {
        path: features,
        pathNot: [
          '^src/server/$1/',
          '^src/server/(runtimes/(runtime|model-choice|conversation-text)|tools/(tool|toolset|tool-source|own-sources|custom-tools|front-end|mcp-toolset|tool-search|searched-tools|subagents|large-results|media|memory-files|jobs|todo|replay)|sandboxes/(sandbox|beneath|bounded-output|workspace-path)|sessions/log/(conversation|following|log-page)|opencode/(messages|session)|gateway/tokens/estimate)\\.ts$',
        ],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'stores-are-private',
      severity: 'error',
      from: { path: '^src/server/([^/]+)/', pathNot: '^src/server/compose/|\\.test\\.ts$' },
      to: {
        path: '^src/server/[^/]+/.*store\\.ts$',
        pathNot: '^src/server/$1/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'only-compose-and-main-know-everything',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/server/(main|doctor)\\.ts$|^src/cli/|\\.test\\.ts$' },
      to: { path: '^src/server/(compose|main)\\.ts$' },
    },
    {
      name: 'only-compose-knows-the-parts-of-the-wiring',
      comment: 'Nor does one part know another: compose.ts hands over what it needs.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/server/compose\\.ts$' },
      to: { path: '^src/server/compose/' },
    },
    {
      name: 'no-sources-from-tests',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.test\\.ts$|/fixtures[\\w-]*\\.ts$' },
      to: { path: '^(test|bench|scripts)/|/fixtures[\\w-]*\\.ts$' },
    },
    {
      name: 'no-format-knows-another',
      comment: 'So that one can go without a trace. What two of them need is in formats/shared.',
      severity: 'error',
      from: { path: '^src/server/gateway/formats/([^/]+)/' },
      to: { path: '^src/server/gateway/formats/', pathNot: '^src/server/gateway/formats/($1|shared)/' },
    },
    {
      name: 'rooms-of-sessions',
      comment: 'The log knows no other room, and only the root knows the engine.',
      severity: 'error',
      from: { path: '^src/server/sessions/(log|queue|waits)/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/server/sessions/engine/' },
    },
    {
      name: 'the-log-knows-no-other-room',
      severity: 'error',
      from: { path: '^src/server/sessions/log/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/server/sessions/', pathNot: '^src/server/sessions/log/' },
    },
    {
      name: 'one-place-starts-programs',
      comment: 'It decides which descriptors a child gets, and what happens when there are none left.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/server/platform/child-process\\.ts$|\\.test\\.ts$' },
      to: { path: '^(node:)?child_process$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'console-sees-only-the-client-and-the-contract',
      severity: 'error',
      from: { path: '^web/src/', pathNot: '\\.test\\.tsx?$' },
      to: { path: '^(src|test|bench|scripts)/', pathNot: '^src/(client|contract)/' },
    },
    {
      name: 'console-takes-types-of-the-contract',
      comment:
        'Its schemas are not sent to browsers. Constants and texts are in files that the build keeps; of routes it keeps what data/routes.ts needs.',
      severity: 'error',
      from: { path: '^web/src/', pathNot: '\\.test\\.tsx?$|^web/src/data/routes\\.ts$' },
      to: {
        path: '^src/contract/',
        pathNot: '^src/contract/(console|csv|error-help|network-presets|sse|webhook-presets)\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'the-session-log-knows-no-element',
      comment: 'It is a pure function of events.',
      severity: 'error',
      from: { path: '^web/src/session-log/' },
      to: { path: '(^|/)(react|react-dom|@mantine|@tanstack|@tabler)(/|$)|\\.tsx$' },
    },
    {
      name: 'no-page-knows-another',
      comment: 'What two of them need is in parts/ or data/.',
      severity: 'error',
      from: { path: '^web/src/pages/([^/]+)/' },
      to: { path: '^web/src/pages/', pathNot: '^web/src/pages/$1/' },
    },
    {
      name: 'parts-and-data-know-no-page',
      severity: 'error',
      from: { path: '^web/src/(parts|data)/' },
      to: { path: '^web/src/(pages|frame)/' },
    },
    {
      name: 'not-resolvable',
      comment: 'The packages of test/clients and test/api-reference are installed there when their tests first run.',
      severity: 'error',
      from: { pathNot: '^test/(clients/sdk|api-reference/stories)/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^test/api-reference/stories/generated/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
}
