import { Document, isAlias, isMap, isScalar, isSeq, type Node, type YAMLMap } from 'yaml'
import { closestTo } from '../platform/closest.ts'

/**
 * Expected shape of a part of a YAML file. `later` lists planned keys, which are rejected with a message of their own.
 */
export type Shape =
  | { readonly kind: 'text' }
  | { readonly kind: 'flag' }
  | { readonly kind: 'whole' | 'number'; readonly min: number }
  | { readonly kind: 'by name'; readonly of: Shape }
  /** `orWord`: a text may stand in place of the list. */
  | { readonly kind: 'list'; readonly of: Shape; readonly orWord?: true }
  | {
      readonly kind: 'block'
      readonly keys: Readonly<Record<string, Shape>>
      readonly later?: readonly string[]
      /** True: unknown keys, which another program may read, are only a warning. */
      readonly ignoresOthers?: true
      /** A text may stand in place of the block. */
      readonly orWord?: true
    }

export const text: Shape = { kind: 'text' }
export const texts: Shape = { kind: 'list', of: text }
/** A list of texts, or one word. */
export const wordOrTexts: Shape = { kind: 'list', of: text, orWord: true }
export const whole: Shape = { kind: 'whole', min: 1 }
export const seconds: Shape = { kind: 'number', min: 0.001 }
export const flag: Shape = { kind: 'flag' }

/** Reports `text`, which follows the name of a block, at a path inside that block. */
export type ReportAt = (text: string, ...path: (string | number)[]) => void

type Report = (problem: string, node: Node | null) => void

interface Surroundings {
  /** Called with each problem and its node. */
  readonly report: Report
  /** Called with each ignored key and its node. */
  readonly warn: Report
  /** Returns an environment variable, for `os.environ/NAME`; undefined if texts must not refer to variables. */
  readonly variable: ((name: string) => string | undefined) | undefined
}

interface Walk extends Surroundings {
  readonly document: Document
}

interface At {
  readonly node: Node | null
  /** `model_list[0].params`, for messages. */
  readonly path: string
}

/** Returns the content of `document` as plain values. Reports and omits values that do not match the shape. */
export function readShape(document: Document, shape: Shape, surroundings: Surroundings): unknown {
  return read({ ...surroundings, document }, shape, { node: document.contents as Node | null, path: '' })
}

/** Like `readShape`, for a JSON value. */
export const readJsonShape = (value: unknown, shape: Shape, report: (problem: string) => void): unknown =>
  readShape(new Document(value), shape, { report, warn: report, variable: undefined })

function read(walk: Walk, shape: Shape, at: At): unknown {
  const node = isAlias(at.node) ? (at.node.resolve(walk.document) ?? null) : at.node
  switch (shape.kind) {
    case 'block':
      if (shape.orWord && isScalar(node)) return readScalar(walk, { kind: 'text' }, { ...at, node })
      return isMap(node) ? readBlock(walk, shape, { ...at, node }) : mismatch(walk, at, 'a mapping')
    case 'by name':
      return isMap(node) ? readNamed(walk, shape.of, { ...at, node }) : mismatch(walk, at, 'a mapping')
    case 'list':
      if (shape.orWord && isScalar(node)) return readScalar(walk, { kind: 'text' }, { ...at, node })
      if (!isSeq<Node | null>(node)) return mismatch(walk, at, 'a list')
      return node.items.map((item, index) => read(walk, shape.of, { node: item, path: `${at.path}[${index}]` }))
    default:
      return readScalar(walk, shape, { ...at, node })
  }
}

type Block = Extract<Shape, { kind: 'block' }>

function readBlock(walk: Walk, block: Block, at: At & { node: YAMLMap }): Record<string, unknown> {
  const { keys, later = [], ignoresOthers } = block
  const value: Record<string, unknown> = {}
  for (const { name, key, item } of pairsOf(at.node)) {
    const path = at.path === '' ? name : `${at.path}.${name}`
    const shape = Object.hasOwn(keys, name) ? keys[name] : undefined
    if (shape) value[name] = read(walk, shape, { node: item, path })
    else if (later.includes(name)) walk.report(`${path} is not supported in this version`, key)
    else if (ignoresOthers) walk.warn(`${path} is ignored; supported fields: ${Object.keys(keys).join(', ')}`, key)
    else walk.report(`unknown key ${path}${hint(name, Object.keys(keys))}`, key)
  }
  return value
}

const hint = (name: string, known: readonly string[]): string => {
  const suggestion = closestTo(name, known)
  return suggestion === undefined ? `; known fields: ${known.join(', ')}` : `; did you mean ${suggestion}?`
}

function readNamed(walk: Walk, shape: Shape, at: At & { node: YAMLMap }): Record<string, unknown> {
  const entries = pairsOf(at.node).map(({ name, item }) => [
    name,
    read(walk, shape, { node: item, path: `${at.path}.${name}` }),
  ])
  return Object.fromEntries(entries)
}

function pairsOf(map: YAMLMap): { name: string; key: Node | null; item: Node | null }[] {
  return map.items.map(({ key, value }) => ({
    name: isScalar(key) ? String(key.value) : String(key),
    key: key as Node | null,
    item: value as Node | null,
  }))
}

type Scalar = Exclude<Shape, { kind: 'block' | 'list' | 'by name' }>

function readScalar(walk: Walk, shape: Scalar, at: At): unknown {
  const value = isScalar(at.node) ? at.node.value : undefined
  switch (shape.kind) {
    case 'text':
      return typeof value === 'string' ? resolved(walk, value, at) : mismatch(walk, at, 'a string (put it in quotes)')
    case 'flag':
      return typeof value === 'boolean' ? value : mismatch(walk, at, 'true or false')
    case 'number':
    case 'whole': {
      const fits =
        typeof value === 'number' && value >= shape.min && (shape.kind === 'number' || Number.isInteger(value))
      const kind = shape.kind === 'whole' ? 'whole number' : 'number'
      return fits && Number.isFinite(value) ? value : mismatch(walk, at, `a ${kind} of ${shape.min} or more`)
    }
  }
}

const reference = /^os\.environ\/(.+)$/

/** Returns the text, or the variable that it refers to. */
function resolved(walk: Walk, text: string, at: At): string | undefined {
  const name = reference.exec(text)?.[1]
  if (name === undefined) return text
  if (!walk.variable) {
    walk.report(
      `${at.path} refers to an environment variable, which is only allowed in the configuration file`,
      at.node,
    )
    return undefined
  }
  const value = walk.variable(name)
  if (value === undefined)
    walk.report(`${at.path} refers to the environment variable ${name}, which is not set`, at.node)
  return value
}

function mismatch(walk: Walk, { node, path }: At, wanted: string): undefined {
  walk.report(`${path === '' ? 'the file' : path} must be ${wanted}`, node)
}
