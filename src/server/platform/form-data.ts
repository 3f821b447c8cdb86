import { invalid } from './errors.ts'

/** Maximum bytes of the headers of one part. */
export const maxPartHeaderBytes = 16 * 1024

/** What the headers of a part of a form state. */
export interface PartHead {
  readonly name: string
  readonly isFile: boolean
  /** As sent: it may contain a path. */
  readonly filename: string | undefined
  readonly contentType: string | undefined
}

/** Returns the boundary in a content type; undefined for one that is not `multipart/form-data`. */
export function boundaryOf(contentType: string | undefined): string | undefined {
  if (!/^multipart\/form-data\s*;/i.test(contentType ?? '')) return undefined
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;]{1,200}))/i.exec(contentType ?? '') ?? []
  return quoted ?? plain
}

/** Reads the headers of a part, each with its line end before it. Throws `invalid_request` for a part without a name. */
export function partHeadOf(headers: string): PartHead {
  const disposition = /\r\ncontent-disposition:\s*form-data([^\r\n]*)/i.exec(headers)?.[1] ?? ''
  const name = parameter(disposition, 'name')
  if (name === undefined) throw invalid('a part of the form has no name')
  const filename = extendedName(disposition) ?? parameter(disposition, 'filename')
  return {
    name: unescaped(name),
    isFile: /;\s*filename\*?=/i.test(disposition),
    filename: filename === undefined ? undefined : unescaped(filename),
    contentType: /\r\ncontent-type:[ \t]*([^\r\n]*)/i.exec(headers)?.[1],
  }
}

function parameter(disposition: string, name: string): string | undefined {
  const [, quoted, plain] = new RegExp(`;\\s*${name}=(?:"([^"]*)"|([^\\s;]+))`, 'i').exec(disposition) ?? []
  return quoted ?? plain
}

/** Forms escape quotes and line ends in names in this way. Source: HTML, multipart/form-data. */
const unescaped = (name: string): string => name.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n')

/** Source: RFC 5987, which some clients use for names outside of ASCII. */
function extendedName(disposition: string): string | undefined {
  const text = /;\s*filename\*=utf-8''([^\s;]+)/i.exec(disposition)?.[1]
  if (text === undefined) return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
