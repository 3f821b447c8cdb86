import { Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { settingsRoute } from './settings.ts'

const Health = named('Health', Type.Object({ status: Type.Literal('ok') }))

/** Warnings do not make the service unready; the field is absent when there are none. */
const Ready = named('Readiness', Type.Object({ status: Type.Literal('ok') }))

export const NotReady = named(
  'NotReady',
  Type.Object({ status: Type.Literal('unavailable'), reasons: Type.Array(Type.String()) }),
)

export const systemRoutes = {
  home: route({
    id: 'system.home',
    method: 'GET',
    path: '/',
    access: 'public',
    errorShape: 'nested',
    responses: { 200: Type.String(), 302: null },
    produces: 'text/html',
    summary: 'Open the console',
    description:
      'Returns the web console. While it is built, or when it could not be built, a page says so, and why. With `general_settings.console: false` it redirects to `/docs`.',
  }),
  console: route({
    id: 'system.console',
    method: 'GET',
    path: '/console/{path}',
    aliases: ['/console'],
    access: 'public',
    errorShape: 'nested',
    params: Type.Object({ path: Type.String({ description: 'Page of the console, or one of its files' }) }),
    responses: { 200: Type.String(), 302: null, 304: null },
    produces: 'text/html',
    summary: 'Open a page of the console',
    description:
      'Returns the web console, which shows the page of this address, or one of the files of its build, such as a script. ' +
      'The pages are not cached; files below `/console/assets/` never change. An unknown file there answers 404.',
  }),
  health: route({
    id: 'system.health',
    method: 'GET',
    path: '/health',
    access: 'public',
    errorShape: 'nested',
    isOnWorkers: true,
    responses: { 200: Health },
    summary: 'Check that the process answers',
    description:
      'Answers 200 while the process runs, whatever the state of the database. Use `/health/ready` to decide where to send traffic.',
  }),
  live: route({
    id: 'system.live',
    method: 'GET',
    path: '/health/live',
    aliases: ['/health/liveliness'],
    access: 'public',
    errorShape: 'nested',
    isOnWorkers: true,
    responses: { 200: Health },
    summary: 'Check liveness',
    description: 'Liveness probe: restart the process when this fails.',
  }),
  ready: route({
    id: 'system.ready',
    method: 'GET',
    path: '/health/ready',
    aliases: ['/health/readiness'],
    access: 'public',
    errorShape: 'nested',
    isOnWorkers: true,
    responses: { 200: Ready, 503: NotReady },
    summary: 'Check readiness',
    description:
      'Readiness probe: send traffic only while this answers 200. Answers 503 with the reason while the database is unreachable or the process shuts down.',
  }),
  metrics: route({
    id: 'system.metrics',
    method: 'GET',
    path: '/metrics',
    access: 'admin',
    errorShape: 'nested',
    isOnWorkers: true,
    responses: { 200: Type.String({ description: 'One line per value, in the text format of Prometheus' }) },
    produces: 'text/plain',
    summary: 'Read metrics for Prometheus',
    description:
      'Returns the metrics of the process that answers: calls, tokens, costs, sessions, queues, the database and the process itself. With `Accept: application/openmetrics-text` the format is OpenMetrics. Needs no key with `metrics.public: true`; answers 404 with `metrics.enabled: false`.',
  }),
  openapi: route({
    id: 'system.openapi',
    method: 'GET',
    path: '/openapi.json',
    access: 'public',
    errorShape: 'nested',
    responses: { 200: Type.Record(Type.String(), Type.Unknown()) },
    summary: 'Read this API as an OpenAPI document',
    description: 'Returns the OpenAPI 3.1 document of this reference.',
  }),
  docs: route({
    id: 'system.docs',
    method: 'GET',
    path: '/docs',
    access: 'public',
    errorShape: 'nested',
    responses: { 200: Type.String() },
    produces: 'text/html',
    summary: 'Open the API reference',
    description: 'Returns this page. It works without access to other hosts.',
  }),
  docsScript: route({
    id: 'system.docs_script',
    method: 'GET',
    path: '/docs/reference.js',
    access: 'public',
    errorShape: 'nested',
    responses: { 200: Type.String() },
    produces: 'text/javascript',
    summary: 'Load the script of the API reference',
    description: 'Returns the script that `/docs` loads.',
  }),
  settings: settingsRoute,
  capabilities: route({
    id: 'system.capabilities',
    method: 'GET',
    path: '/api/capabilities',
    access: 'key',
    errorShape: 'nested',
    responses: {
      200: Type.Object({
        version: Type.String(),
        providers: Type.Array(Type.String()),
        models: Type.Array(Type.String()),
        runtimes: Type.Array(
          Type.Object({
            id: Type.String(),
            name: Type.String(),
            connected: Type.Boolean(),
            capabilities: Type.Record(Type.String(), Type.Boolean()),
          }),
        ),
        mcp_servers: Type.Array(Type.String()),
        endpoints: Type.Array(Type.Object({ id: Type.String(), method: Type.String(), path: Type.String() })),
      }),
    },
    summary: 'Read what this service can do',
    description: 'Returns the runtimes, protocols and features of this service, so that a client can adapt to it.',
  }),
}
