import { Type } from 'typebox'
import { AgUiRunInput } from './ag-ui-input.ts'
import { promptBodyLimit } from './prompt-files.ts'
import { route } from './route.ts'

/** The version of the protocol that the service speaks. */
export const agUiVersion = '1.0'

export const agUiRoutes = {
  run: route({
    id: 'ag_ui.run',
    method: 'POST',
    path: '/ag-ui/{agent}',
    access: 'key',
    errorShape: 'nested',
    unknownFields: 'reported',
    bodyLimit: promptBodyLimit,
    params: Type.Object({ agent: Type.String({ description: 'Id of the agent' }) }),
    body: AgUiRunInput,
    responses: {
      200: Type.String({
        description: 'Server-sent events, each an event of AG-UI, from `RUN_STARTED` to the end of the run',
      }),
    },
    produces: 'text/event-stream',
    summary: 'Run an agent for a front-end',
    description:
      'Sends what is new in the conversation to the session of the thread, and streams the run as events of AG-UI: texts, reasoning, tool calls, changes of the state. A run ends with `RUN_FINISHED` when the agent has answered, calls a tool of the front-end or asks for approval, and with `RUN_ERROR` when it failed. The run goes on without a reader; the same `runId` follows it again from its start. Requests that start no run get an error as JSON.',
  }),
}
