import { Type } from 'typebox'
import { defineTool, done, type ServerContext } from './tool.ts'

const maxTodos = 100

const marks: ReadonlyMap<string, string> = new Map([
  ['pending', '[ ]'],
  ['in_progress', '[~]'],
  ['completed', '[x]'],
])

/** Replaces the list of tasks of the session. The list is in the log: its calls and results are its only store. */
export const todoTool = defineTool({
  name: 'todo_write',
  description:
    'Keep the list of tasks of this session: send the whole list each time it changes. Use it for work with several ' +
    'steps, with one task in_progress; people see it. The result is the new list.',
  input: Type.Object({
    todos: Type.Array(
      Type.Object({
        content: Type.String({ minLength: 1, maxLength: 1000, pattern: '\\S', description: 'What to do' }),
        status: Type.Union([Type.Literal('pending'), Type.Literal('in_progress'), Type.Literal('completed')]),
      }),
      { maxItems: maxTodos, description: 'The whole list, in order; an empty one clears it' },
    ),
  }),
  idempotent: true,
  reads: true,
  run: async ({ todos }, _context: ServerContext) => done(todosText(todos) || 'the list is empty'),
})

/** Returns a list of tasks as text, one line per task; empty without tasks. */
export const todosText = (todos: readonly { readonly content?: unknown; readonly status?: unknown }[]): string =>
  todos.map(({ content, status }) => `${markOf(status)} ${String(content).replaceAll(/\s+/g, ' ').trim()}`).join('\n')

const markOf = (status: unknown): string => marks.get(String(status)) ?? '[ ]'
