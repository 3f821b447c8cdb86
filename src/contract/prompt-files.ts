import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { Nullable } from './schemas.ts'

/** Maximum number of files in a prompt, and maximum bytes of one of them and of all together. */
export const maxPromptFiles = 20
export const maxPromptFileBytes = 10 * 1024 * 1024
export const maxPromptFilesBytes = 20 * 1024 * 1024

/** Body limit of routes that accept files: the files in base64, and texts. */
export const promptBodyLimit = 30 * 1024 * 1024

/** A file of a stored prompt. Its content is in the workspace of the session once the prompt runs. */
export const FilePart = named(
  'FilePart',
  Type.Object({
    type: Type.Literal('file'),
    name: Type.String({ description: 'Name without folders and special characters' }),
    media_type: Type.String(),
    size: Type.Integer({ description: 'Bytes' }),
    sha256: Type.String({ description: 'Hash of the content, in hexadecimal digits' }),
    path: Type.String({ description: 'Path in the workspace, such as uploads/0b5f91c2a7de/report.pdf' }),
  }),
)
export type FilePart = Static<typeof FilePart>

// Lengths and alphabets are checked when the content is decoded: a pattern would read megabytes on every validation.
const Data = Type.String({ description: 'Content in base64' })
const FileId = Type.String({ maxLength: 200, description: 'Id of an uploaded file, in place of the content' })
const MediaType = Type.String({ maxLength: 200, description: 'Such as `image/png` or `text/csv`' })
const Name = Type.String({ maxLength: 1_000 })

/** A file of a prompt, in our format or in opencode's (`mime`, `filename`, `url`). */
export const FilePartWrite = named(
  'FilePartWrite',
  Type.Object({
    type: Type.Literal('file'),
    data: Type.Optional(Data),
    media_type: Type.Optional(MediaType),
    name: Type.Optional(Name),
    file_id: Type.Optional(FileId),
    url: Type.Optional(Type.String({ description: 'opencode’s name for the content: a `data:` URL in base64' })),
    mime: Type.Optional(Type.String({ maxLength: 200, description: 'opencode’s name for `media_type`' })),
    filename: Type.Optional(Type.String({ maxLength: 1_000, description: 'opencode’s name for `name`' })),
  }),
)
export type FilePartWrite = Static<typeof FilePartWrite>

const Source = named(
  'MediaSource',
  Type.Object({
    type: Type.String({ maxLength: 50, description: '`base64`, `file`, or `text` in a document' }),
    media_type: Type.Optional(MediaType),
    data: Type.Optional(Type.String({ description: 'Content in base64, or the text' })),
    file_id: Type.Optional(FileId),
  }),
)

/** An image of a message, as in the Managed Agents dialect. Dialects: section 1.6. */
export const ImageWrite = named('ImageWrite', Type.Object({ type: Type.Literal('image'), source: Source }))

/** A document of a message, as in the Managed Agents dialect. Dialects: section 1.6. */
export const DocumentWrite = named(
  'DocumentWrite',
  Type.Object({
    type: Type.Literal('document'),
    source: Source,
    title: Type.Optional(Nullable(Name)),
    context: Type.Optional(Nullable(Type.String({ maxLength: 100_000, description: 'Added as a text' }))),
    citations: Type.Optional(Nullable(Type.Object({ enabled: Type.Literal(false) }), 'Not supported')),
  }),
)
export type MediaWrite = Static<typeof ImageWrite> | Static<typeof DocumentWrite>
