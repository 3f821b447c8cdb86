import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { NotFound } from './frame/not-found.tsx'
import { RouteProblem } from './frame/route-problem.tsx'
import { Shell } from './frame/shell.tsx'
import { parseSearch, stringifySearch, type TextSearch } from './parts/address.ts'
import { Loading } from './parts/page-state.tsx'

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound })

/** A page below the frame. Its code is loaded when it is opened. */
const page = <const Path extends string>(path: Path, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component,
    validateSearch: (search): TextSearch => search as TextSearch,
  })

const routeTree = root.addChildren([
  page(
    '/',
    lazyRouteComponent(() => import('./pages/overview/overview-page.tsx'), 'OverviewPage'),
  ),
  page(
    '/console/sessions',
    lazyRouteComponent(() => import('./pages/sessions/sessions-page.tsx'), 'SessionsPage'),
  ),
  page(
    '/console/sessions/$sessionId',
    lazyRouteComponent(() => import('./pages/session/session-page.tsx'), 'SessionPage'),
  ),
  page(
    '/console/compare',
    lazyRouteComponent(() => import('./pages/compare/compare-page.tsx'), 'ComparePage'),
  ),
  page(
    '/console/inbox',
    lazyRouteComponent(() => import('./pages/inbox/inbox-page.tsx'), 'InboxPage'),
  ),
  page(
    '/console/agents',
    lazyRouteComponent(() => import('./pages/agents/agents-page.tsx'), 'AgentsPage'),
  ),
  page(
    '/console/agents/$agentId',
    lazyRouteComponent(() => import('./pages/agent/agent-page.tsx'), 'AgentPage'),
  ),
  page(
    '/console/skills',
    lazyRouteComponent(() => import('./pages/skills/skills-page.tsx'), 'SkillsPage'),
  ),
  page(
    '/console/memories',
    lazyRouteComponent(() => import('./pages/memories/memories-page.tsx'), 'MemoriesPage'),
  ),
  page(
    '/console/evaluations',
    lazyRouteComponent(() => import('./pages/evaluations/evaluations-page.tsx'), 'EvaluationsPage'),
  ),
  page(
    '/console/evaluations/$experimentId',
    lazyRouteComponent(() => import('./pages/evaluations/experiment-page.tsx'), 'ExperimentPage'),
  ),
  page(
    '/console/webhooks',
    lazyRouteComponent(() => import('./pages/webhooks/webhooks-page.tsx'), 'WebhooksPage'),
  ),
  page(
    '/console/schedules',
    lazyRouteComponent(() => import('./pages/schedules/schedules-page.tsx'), 'SchedulesPage'),
  ),
  page(
    '/console/mcp',
    lazyRouteComponent(() => import('./pages/mcp/mcp-page.tsx'), 'McpPage'),
  ),
  page(
    '/console/playground',
    lazyRouteComponent(() => import('./pages/playground/playground-page.tsx'), 'PlaygroundPage'),
  ),
  page(
    '/console/usage',
    lazyRouteComponent(() => import('./pages/usage/usage-page.tsx'), 'UsagePage'),
  ),
  page(
    '/console/logs',
    lazyRouteComponent(() => import('./pages/logs/logs-page.tsx'), 'LogsPage'),
  ),
  page(
    '/console/models',
    lazyRouteComponent(() => import('./pages/models/models-page.tsx'), 'ModelsPage'),
  ),
  page(
    '/console/runtimes',
    lazyRouteComponent(() => import('./pages/runtimes/runtimes-page.tsx'), 'RuntimesPage'),
  ),
  page(
    '/console/keys',
    lazyRouteComponent(() => import('./pages/keys/keys-page.tsx'), 'KeysPage'),
  ),
  page(
    '/console/users',
    lazyRouteComponent(() => import('./pages/users/users-page.tsx'), 'UsersPage'),
  ),
  page(
    '/console/teams',
    lazyRouteComponent(() => import('./pages/teams/teams-page.tsx'), 'TeamsPage'),
  ),
  page(
    '/console/budgets',
    lazyRouteComponent(() => import('./pages/budgets/budgets-page.tsx'), 'BudgetsPage'),
  ),
  page(
    '/console/vault',
    lazyRouteComponent(() => import('./pages/vault/vault-page.tsx'), 'VaultPage'),
  ),
  page(
    '/console/audit',
    lazyRouteComponent(() => import('./pages/audit/audit-page.tsx'), 'AuditPage'),
  ),
  page(
    '/console/settings',
    lazyRouteComponent(() => import('./pages/settings/settings-page.tsx'), 'SettingsPage'),
  ),
])

export const router = createRouter({
  routeTree,
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultPendingComponent: Loading,
  defaultErrorComponent: RouteProblem,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    readonly router: typeof router
  }
}
