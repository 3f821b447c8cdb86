import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { processorMs } from '../../../test/support/service/processor-time.ts'
import {
  attach,
  attachedIds,
  type BlockSource,
  blockOf,
  copyState,
  detach,
  detachAll,
  type PromptWithSkills,
  renew,
} from './blocks.ts'

const idOf = (at: number) => `skill_${at.toString(16).padStart(32, '0')}`
const bare = (system: string): PromptWithSkills => ({ system, skills: [] })
const skill = (at: number, content = `content ${at}`): BlockSource => ({ id: idOf(at), name: `Skill ${at}`, content })

/** Texts of pieces that could confuse the search for blocks. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\n',
        '\n\n',
        ' ',
        '<!-- skill:',
        '<!-- skill&#58;',
        ' -->',
        '<!-- ski',
        'll:',
        `<!-- skill:${idOf(0)} -->`,
        `\n\n<!-- skill:${idOf(1)} -->\n`,
        blockOf(idOf(2), 'content'),
        '\r\n',
        'x',
      ),
      fc.string({ maxLength: 5 }),
    ),
    { maxLength: 8 },
  )
  .map(pieces => pieces.join(''))
/** A user's prompt may contain any text except the marker of a skill. */
const prompt = text.map(given => given.replaceAll('<!-- skill:', '<!-- skil:'))
const skills = fc
  .array(text, { minLength: 1, maxLength: 5 })
  .map(contents => contents.map((content, at) => skill(at, content)))

const attachedAll = (system: string, sources: readonly BlockSource[]) => sources.reduce(attach, bare(system))

test('law: attaching appends a blank line, the marker, a newline and the content', () => {
  fc.assert(
    fc.property(prompt, text, (system, content) => {
      const { system: after } = attach(bare(system), skill(7, content))
      const escaped = content.replaceAll('<!-- skill:', '<!-- skill&#58;')
      assert.equal(after, `${system}\n\n<!-- skill:${idOf(7)} -->\n${escaped}`)
    }),
  )
})

test('law: attaching a skill again changes nothing, even when its content has changed', () => {
  fc.assert(
    fc.property(prompt, skills, text, fc.nat(), (system, sources, other, pick) => {
      const prompt = attachedAll(system, sources)
      const source = sources[pick % sources.length] ?? skill(0)
      assert.equal(attach(prompt, source), prompt)
      assert.equal(attach(prompt, { ...source, content: other }), prompt)
    }),
  )
})

test('law: detaching one skill leaves the same prompt as attaching only the others', () => {
  fc.assert(
    fc.property(prompt, skills, fc.nat(), (system, sources, pick) => {
      const gone = sources[pick % sources.length]?.id ?? ''
      const rest = sources.filter(({ id }) => id !== gone)
      assert.deepEqual(detach(attachedAll(system, sources), gone), attachedAll(system, rest))
    }),
  )
})

test('law: detaching all, or each in any order, restores the prompt byte for byte', () => {
  const shuffled = skills.chain(sources =>
    fc.tuple(fc.constant(sources), fc.shuffledSubarray([...sources], { minLength: sources.length })),
  )
  fc.assert(
    fc.property(prompt, shuffled, (system, [sources, order]) => {
      const prompt = attachedAll(system, sources)
      assert.deepEqual(detachAll(prompt), bare(system))
      assert.deepEqual(
        order.reduce((left, { id }) => detach(left, id), prompt),
        bare(system),
      )
    }),
  )
})

test('law: a prompt that contains the marker of another skill is restored too', () => {
  fc.assert(
    fc.property(text, skills, (system, sources) => {
      const fresh = sources.map((source, at) => ({ ...source, id: idOf(at + 100) }))
      const back = fresh.reduce((left, { id }) => detach(left, id), attachedAll(system, fresh))
      assert.equal(back.system, system)
    }),
  )
})

test('law: attached skills are listed in the order of the prompt', () => {
  fc.assert(
    fc.property(prompt, skills, (system, sources) => {
      assert.deepEqual(
        attachedIds(attachedAll(system, sources)),
        sources.map(({ id }) => id),
      )
    }),
  )
})

test('law: renewing changes one block in its place, after which it is current and detaches as before', () => {
  fc.assert(
    fc.property(prompt, skills, text, fc.nat(), (system, sources, content, pick) => {
      const at = pick % sources.length
      const source = { ...(sources[at] ?? skill(0)), content }
      const renewed = renew(attachedAll(system, sources), source)
      assert.equal(renewed.system, attachedAll(system, sources.with(at, source)).system)
      assert.equal(copyState(renewed, source.id, content), 'current')
      assert.equal(detachAll(renewed).system, system)
    }),
  )
})

test('detaching a skill that is not attached changes nothing', () => {
  const prompt = attachedAll('Base.', [skill(1)])
  assert.equal(detach(prompt, idOf(2)), prompt)
  const plain = bare('Base.')
  assert.equal(detachAll(plain), plain)
})

test('an edited block extends from its marker to the next marker or the end', () => {
  const prompt = attachedAll('Base.', [skill(1), skill(2), skill(3)])
  const edited = { ...prompt, system: prompt.system.replace('content 2', 'content two\n\nand more') }
  assert.equal(copyState(edited, idOf(2), 'content 2'), 'edited')
  assert.equal(detach(edited, idOf(2)).system, attachedAll('Base.', [skill(1), skill(3)]).system)
  const last = { ...prompt, system: prompt.system.replace('content 3', 'another end') }
  assert.equal(detach(last, idOf(3)).system, attachedAll('Base.', [skill(1), skill(2)]).system)
  const all = { ...prompt, system: prompt.system.replaceAll('content', 'changed') }
  assert.deepEqual(detachAll(all), bare('Base.'))
})

test('text on separate lines after a block stays, and text that continues its last line counts as an edit', () => {
  const prompt = attachedAll('Base.', [skill(1)])
  assert.equal(detachAll({ ...prompt, system: `${prompt.system}\n\nMine.` }).system, 'Base.\n\nMine.')
  assert.equal(detachAll({ ...prompt, system: `${prompt.system}\r\nMine.` }).system, 'Base.\r\nMine.')
  assert.equal(detachAll({ ...prompt, system: `${prompt.system} and more` }).system, 'Base.')
})

test('a block without its marker is not attached and can be attached again', () => {
  const prompt = attachedAll('Base.', [skill(1)])
  const rewritten = { ...prompt, system: 'Other.' }
  assert.equal(copyState(rewritten, idOf(1), 'content 1'), undefined)
  assert.deepEqual(attach(rewritten, skill(1)), attachedAll('Other.', [skill(1)]))
})

test('a block in pasted text is found by its marker', () => {
  const pasted = bare(attachedAll('Base.', [skill(1), skill(2)]).system)
  assert.deepEqual(attachedIds(pasted), [idOf(1), idOf(2)])
  assert.equal(attach(pasted, skill(1)), pasted)
  assert.equal(copyState(pasted, idOf(1), 'content 1'), 'current')
  assert.equal(detachAll(pasted).system, 'Base.')
  const mentioned = bare(`Blocks look like <!-- skill:${idOf(1)} --> here, or\n\n<!-- skill:any -->\nlike this.`)
  assert.equal(detachAll(mentioned), mentioned)
})

test('a prompt full of markers is read in linear time', () => {
  const promptOf = (length: number) => bare(Array.from({ length }, (_, at) => blockOf(idOf(at), 'x')).join(''))
  const timeOf = (prompt: PromptWithSkills) => processorMs(() => detachAll(prompt))
  const [short, long] = [promptOf(1_500), promptOf(15_000)]
  timeOf(short)
  // Quadratic time would be 100 times as long.
  const shortTime = Math.max(timeOf(short), timeOf(short), timeOf(short))
  assert.ok(Math.min(timeOf(long), timeOf(long)) < 50 * shortTime)
})
