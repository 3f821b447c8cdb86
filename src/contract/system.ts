import { Type } from 'typebox'
import { route } from './route.ts'

const Health = Type.Object({ status: Type.Literal('ok') })

/** Warnings are no reason to send traffic elsewhere; the field is absent while there are none. */
const Ready = Type.Object({ status: Type.Literal('ok') })

export const NotReady = Type.Object({ status: Type.Literal('unavailable'), reasons: Type.Array(Type.String()) })

export const systemRoutes = {
  home: route({
    id: 'system.home',
    method: 'GET',
    path: '/',
    access: 'public',
    errorShape: 'nested',
    responses: { 302: null },
    summary: 'Redirect to the interactive reference',
  }),
  health: route({
    id: 'system.health',
    method: 'GET',
    path: '/health',
    access: 'public',
    errorShape: 'nested',
    isOnWorkers: true,
    responses: { 200: Health },
    summary: 'The process answers',
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
    summary: 'Liveness: restart the process when this fails',
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
    summary: 'Readiness: send traffic only while this is 200',
  }),
  openapi: route({
    id: 'system.openapi',
    method: 'GET',
    path: '/openapi.json',
    access: 'public',
    errorShape: 'nested',
    responses: { 200: Type.Record(Type.String(), Type.Unknown()) },
    summary: 'This API as an OpenAPI 3.1 document',
  }),
  docs: route({
    id: 'system.docs',
    method: 'GET',
    path: '/docs',
    access: 'public',
    errorShape: 'nested',
    responses: { 200: Type.String() },
    produces: 'text/html',
    summary: 'The interactive reference',
  }),
  docsScript: route({
    id: 'system.docs_script',
    method: 'GET',
    path: '/docs/reference.js',
    access: 'public',
    errorShape: 'nested',
    responses: { 200: Type.String() },
    produces: 'text/javascript',
    summary: 'The script of the interactive reference',
  }),
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
    summary: 'What this server can do',
  }),
}
