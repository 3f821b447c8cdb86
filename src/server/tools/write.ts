import { Type } from 'typebox'
import { defineTool, done } from './tool.ts'

/** Creates or replaces a file. */
export const writeTool = defineTool({
  name: 'write',
  description: 'Write a file of the workspace: creates it and its folders, or replaces its whole content.',
  input: Type.Object({
    file_path: Type.String({ description: 'Relative to /workspace, or below it' }),
    content: Type.String({ description: 'The whole new content' }),
  }),
  idempotent: false,
  memoryBytes: ({ content }) => 3 * content.length,
  async run({ file_path, content }, { sandbox }) {
    const what = await sandbox.files.write(file_path, content)
    return done(`${what} ${file_path} (${Buffer.byteLength(content)} bytes)`)
  },
})
