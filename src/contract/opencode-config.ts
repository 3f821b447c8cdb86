import { Type } from 'typebox'
import { Empty, opencodeRoute, read } from './opencode-route.ts'
import { route } from './route.ts'
import { JsonObject } from './schemas.ts'

/** What a client reads when it starts: settings, models and what a session can run. */
export const opencodeConfigRoutes = {
  config: read({
    id: 'config',
    path: '/config',
    answer: JsonObject,
    summary: 'Read the settings of a client',
    description: 'Returns the settings that opencode’s clients need, such as the default model.',
  }),
  globalConfig: read({
    id: 'global_config',
    path: '/global/config',
    answer: JsonObject,
    summary: 'Read the global settings of a client',
    description: 'The same as `/config`.',
  }),
  configProviders: read({
    id: 'config_providers',
    path: '/config/providers',
    answer: Type.Object({ providers: Type.Array(JsonObject), default: JsonObject }),
    summary: 'List models as providers',
    description: 'Returns the models of the gateway as those of one provider.',
  }),
  providers: read({
    id: 'providers',
    path: '/provider',
    answer: Type.Object({ all: Type.Array(JsonObject), default: JsonObject, connected: Type.Array(Type.String()) }),
    summary: 'List models as providers (newer clients)',
    description: 'The same as `/config/providers` in the shape of newer clients.',
  }),
  agents: read({
    id: 'agents',
    path: '/agent',
    answer: Type.Array(JsonObject),
    summary: 'List what a session can run',
    description: 'Lists the connected runtimes, then the agents by their id.',
  }),
  path: read({
    id: 'path',
    path: '/path',
    answer: JsonObject,
    summary: 'Read the folders of a session',
    description: 'Returns the folders as a session sees them.',
  }),
  log: route({
    ...opencodeRoute,
    id: 'opencode.log',
    unknownFields: 'reported',
    method: 'POST',
    path: '/log',
    body: Type.Object({
      service: Type.String({ maxLength: 200 }),
      level: Type.Union([Type.Literal('debug'), Type.Literal('info'), Type.Literal('warn'), Type.Literal('error')]),
      message: Type.String({ maxLength: 10_000 }),
      extra: Type.Optional(JsonObject),
    }),
    responses: { 200: Type.Boolean() },
    summary: 'Send a log line',
    description: 'Accepts a line of a client’s log and discards it.',
  }),
  commands: read({
    id: 'commands',
    path: '/command',
    answer: Empty,
    summary: 'List commands',
    description: 'Returns an empty list: there are no commands in this version.',
  }),
}

/** The project of a client, which is the same for every session. */
export const opencodeProjectRoutes = {
  vcs: read({
    id: 'vcs',
    path: '/vcs',
    answer: JsonObject,
    summary: 'Read the branch',
    description: 'Returns no branch: workspaces are not repositories of the client.',
  }),
  mcp: read({
    id: 'mcp',
    path: '/mcp',
    answer: JsonObject,
    summary: 'List MCP servers of the client',
    description: 'Returns no servers.',
  }),
  projects: read({
    id: 'projects',
    path: '/project',
    answer: Type.Array(JsonObject),
    summary: 'List projects',
    description: 'Returns the only project.',
  }),
  project: read({
    id: 'project',
    path: '/project/current',
    answer: JsonObject,
    summary: 'Read the current project',
    description: 'Returns the only project.',
  }),
}
