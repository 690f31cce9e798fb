# SPDX-License-Identifier: Apache-2.0
"""Words, small facts about the world, facts about glint, and random names. All lists were written for this project."""
import string

PEOPLE = """Ana Ben Cleo Dan Eva Finn Gus Hana Ivo Jana Kai Lena Max Nora Otto Pia Quinn Rosa Sam Tess Uma Vera Will Xena Yan Zoe Adam Bea Carl Dora
Emil Fay Gina Hugo Iris Jon Kira Leo Mia Nick Olga Paul Ruth Sven Tara Ugo Vic Wanda Yara Zack Alma Bruno Clara David Elsa Felix Greta Henry Ida Jack""".split()
CITIES = """Lima Oslo Paris Rome Cairo Tokyo Delhi Madrid Vienna Berlin Lisbon Dublin Prague Athens Warsaw Zurich Geneva Boston Denver Austin Dallas Miami
Quito Bogota Havana Nairobi Accra Lagos Tunis Rabat Seoul Osaka Hanoi Manila Jakarta Sydney Perth Auckland Toronto Ottawa Montreal Bergen Porto Turin""".split()
ANIMALS = "cat dog horse cow sheep goat pig hen duck mouse rabbit fox wolf bear lion tiger zebra camel frog snake bee ant owl eagle whale shark".split()
FRUIT = "apple banana pear plum cherry grape lemon orange peach melon mango fig kiwi apricot lime berry".split()
FOOD = "bread rice soup salad pizza pasta cheese cake butter egg fish honey jam noodles potato carrot onion bean tomato pie".split()
TOOLS = "hammer saw drill spoon fork knife pen pencil brush broom ladder rope needle shovel key lamp".split()
CLOTHES = "shirt coat hat shoe sock scarf glove dress skirt belt jacket boot cap sweater".split()
ROOMS = "kitchen bedroom bathroom garage hall office cellar attic garden balcony library".split()
FURNITURE = "table chair bed sofa desk shelf drawer box cupboard bench mirror clock".split()
VEHICLES = "car bus train bike boat plane truck tram ship van".split()
PLACES = "park school market station bridge river lake forest beach museum bank shop harbour farm tower square street".split()
COLOURS = "red green blue yellow orange purple pink black white brown".split()
ADJ = """small big old new cold warm fast slow happy quiet loud soft hard round long short heavy light clean dirty bright dark empty full tall sweet dry wet
strong weak rich poor young kind brave calm busy early late cheap simple plain sharp thick thin""".split()
OBJECTS = """report letter invoice ticket order parcel photo song film book page note list map chart table file folder message alarm timer meeting task
project budget plan recipe menu garden engine motor pump valve sensor camera screen printer server router robot drone door window gate lamp heater fan
oven fridge account password profile contact group channel team client user driver teacher doctor lesson exam grade score game match player level card
coin prize ring badge label tag code token key lock box shelf crate pallet truck route stop flight seat room hotel booking table visit tour guide
sample test probe signal wave filter layer colour shape image frame clip sound voice track album playlist backup log record row column index cache queue
batch job worker node cluster cloud port cable wire switch plug battery panel meter scale clock watch calendar event holiday party gift flower tree seed
plant field farm barn tractor horse herd well tank pipe river bridge tower wall roof floor tile brick paint brush""".split()
VERBS = """get set find send open close check count make create delete move copy rename list read write start stop lock unlock paint order print book
cancel update add remove show hide sort merge split clean repair test measure load save export import sync share rate scan track label pack ship
sell buy rent call invite follow block pin tag mark archive restore reset resize rotate trim mix heat cool fill drain turn raise lower pause resume""".split()
PARAMS = """size length width height weight depth count limit offset page level speed volume rate price amount total budget age year month day hour minute
name title label owner author city country street zone region path folder file format mode type kind colour style shape language unit currency code
status priority category topic subject reason comment note message body source target start end from to first last index row column position angle
temperature pressure voltage humidity duration timeout delay interval retries threshold ratio score weight quality dry_run force verbose recursive public
active enabled urgent shared locked visible gift fresh express""".split()
FLAGS = "dry_run force verbose recursive public active enabled urgent shared locked visible fresh express silent strict private".split()
FIELDS = """id status price total count weight height temperature balance score owner city date time code size distance duration rating version level
speed name state stock rank seat gate floor phone width length voltage progress""".split()
SYNONYM = {"get": "fetch", "find": "look up", "send": "post", "make": "produce", "create": "make", "delete": "erase", "show": "display",
           "start": "begin", "stop": "end", "buy": "purchase", "repair": "fix", "check": "inspect", "update": "change"}
NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
OPPOSITE = dict(x.split("-") for x in """hot-cold big-small fast-slow old-new happy-sad light-dark wet-dry hard-soft full-empty long-short high-low open-closed
early-late clean-dirty rich-poor strong-weak loud-quiet thick-thin near-far up-down left-right true-false first-last good-bad day-night black-white
sweet-sour cheap-expensive safe-dangerous young-old inside-outside above-below""".split())
SOUND = dict(x.split("-") for x in "cat-meows dog-barks cow-moos sheep-bleats duck-quacks lion-roars bee-buzzes frog-croaks horse-neighs pig-grunts owl-hoots wolf-howls mouse-squeaks snake-hisses".split())
COLOUR_OF = dict(x.split("-") for x in "banana-yellow grass-green snow-white coal-black sky-blue blood-red carrot-orange tomato-red lemon-yellow milk-white cherry-red plum-purple chocolate-brown leaf-green sea-blue pig-pink".split())
CAPITAL = dict(x.split("-") for x in """France-Paris Italy-Rome Spain-Madrid Germany-Berlin Norway-Oslo Sweden-Stockholm Portugal-Lisbon Austria-Vienna Greece-Athens
Poland-Warsaw Egypt-Cairo Japan-Tokyo Peru-Lima Kenya-Nairobi Cuba-Havana Ireland-Dublin Canada-Ottawa Finland-Helsinki Hungary-Budapest Denmark-Copenhagen""".split())
KIND = {"animal": ANIMALS, "fruit": FRUIT, "food": FOOD, "tool": TOOLS, "piece of clothing": CLOTHES, "room": ROOMS, "vehicle": VEHICLES, "colour": COLOURS,
        "piece of furniture": FURNITURE}
PLURAL = {"mouse": "mice", "child": "children", "foot": "feet", "tooth": "teeth", "man": "men", "woman": "women", "goose": "geese", "leaf": "leaves",
          "knife": "knives", "wolf": "wolves", "box": "boxes", "bus": "buses", "city": "cities", "baby": "babies", "fish": "fish", "sheep": "sheep",
          "potato": "potatoes", "dress": "dresses", "cherry": "cherries", "berry": "berries", "fox": "foxes", "brush": "brushes", "peach": "peaches",
          "bench": "benches", "shelf": "shelves", "scarf": "scarves", "person": "people", "sandwich": "sandwiches"}
MEANING = {
    "spoon": "a tool for eating soup and other soft food", "knife": "a tool for cutting", "hammer": "a tool for driving nails",
    "umbrella": "a thing that keeps the rain off you", "bridge": "a way over a river or a road", "library": "a place where you can borrow books",
    "teacher": "a person who helps others learn", "doctor": "a person who helps sick people", "farmer": "a person who grows food",
    "river": "water that flows through the land to the sea", "mountain": "very high land", "island": "land with water all around it",
    "winter": "the coldest season of the year", "summer": "the warmest season of the year", "week": "seven days", "year": "twelve months",
    "hour": "sixty minutes", "minute": "sixty seconds", "triangle": "a shape with three sides", "square": "a shape with four equal sides",
    "circle": "a perfectly round shape", "sentence": "a group of words that says something", "number": "a word or sign that says how many",
    "computer": "a machine that follows instructions and works with data", "program": "a list of instructions for a computer",
    "camera": "a machine that takes pictures", "map": "a drawing that shows where places are", "clock": "a machine that shows the time",
    "bakery": "a shop that sells bread", "garden": "a piece of land where plants grow", "bird": "an animal with wings and feathers",
    "rainbow": "an arc of colours in the sky after rain", "desert": "very dry land with few plants", "engine": "a machine that makes things move",
    "token": "a small piece of text that a language model reads or writes", "drafter": "a small model that guesses the next tokens for a big one"}
WORLD = [
    ("How many days are in a week?", "There are seven days in a week."), ("How many months are in a year?", "There are twelve months in a year."),
    ("How many hours are in a day?", "There are 24 hours in a day."), ("How many minutes are in an hour?", "There are 60 minutes in an hour."),
    ("How many legs does a spider have?", "A spider has eight legs."), ("How many legs does a dog have?", "A dog has four legs."),
    ("How many wheels does a bike have?", "A bike has two wheels."), ("What do bees make?", "Bees make honey."), ("What do cows give us?", "Cows give us milk."),
    ("Where do fish live?", "Fish live in water."), ("What is the largest ocean?", "The Pacific is the largest ocean."),
    ("What is the largest animal?", "The blue whale is the largest animal."), ("Is the sun a star?", "Yes, the sun is a star."),
    ("Is the moon a planet?", "No, the moon goes around the Earth."), ("Which planet do we live on?", "We live on the Earth."),
    ("What is ice?", "Ice is frozen water."), ("What falls from clouds?", "Rain and snow fall from clouds."), ("When does the sun rise?", "The sun rises in the morning."),
    ("When does the sun set?", "The sun sets in the evening."), ("What do plants need?", "Plants need light, water and air."), ("What do we breathe?", "We breathe air."),
    ("How many seasons are there?", "There are four seasons: spring, summer, autumn and winter."), ("What comes after winter?", "Spring comes after winter."),
    ("How many letters are in the alphabet?", "The English alphabet has 26 letters."), ("What is the first letter of the alphabet?", "The first letter is A."),
    ("How many sides does a triangle have?", "A triangle has three sides."), ("How many corners does a square have?", "A square has four corners."),
    ("What is a baby cat called?", "A baby cat is called a kitten."), ("What is a baby dog called?", "A baby dog is called a puppy."),
    ("What do we use to write?", "We use a pen or a pencil to write."), ("What do we use to cut paper?", "We use scissors to cut paper."),
    ("At what temperature does water freeze?", "Water freezes at 0 degrees Celsius."), ("At what temperature does water boil?", "Water boils at 100 degrees Celsius."),
    ("Which is bigger, a mouse or a horse?", "A horse is bigger than a mouse."), ("Which is faster, a car or a bike?", "A car is faster than a bike."),
    ("Why do we sleep?", "We sleep so that the body and the mind can rest."), ("Why is the sky blue?", "Air scatters blue light more than red light, so the sky looks blue."),
    ("What is snow?", "Snow is frozen water that falls from clouds."), ("What do we wear when it is cold?", "We wear a coat, a hat and gloves when it is cold.")]
SMALL_TALK = [
    (["Hello", "Hello!", "Hi", "Hi!", "Hi there", "Hey", "Good day", "hello"], "Hello! How can I help you?"), (["Good morning", "Good morning!"], "Good morning! How can I help you?"),
    (["Good evening", "Good evening!"], "Good evening! How can I help you?"), (["How are you?", "How are you doing?", "How is it going?"], "I am fine, thank you. How can I help you?"),
    (["Thank you", "Thanks", "Thank you!", "Thanks a lot!", "Thanks!"], "You are welcome!"), (["Bye", "Goodbye", "See you", "Good night", "Bye!"], "Goodbye! Come back any time."),
    (["Are you a person?", "Are you human?", "Are you a robot?"], "No, I am not a person. I am a small language model."),
    (["Can you help me?", "I need help.", "Please help me."], "Yes, of course. What do you need?"),
    (["I am sad.", "I feel sad today."], "I am sorry to hear that. Do you want to talk about it?"), (["I am happy!", "I feel great today."], "That is good to hear!"),
    (["I am tired.", "I am so tired today."], "Then a short rest may help you."), (["I am bored.", "I am bored today."], "We could play with words or numbers. Ask me something!"),
    (["Tell me a joke.", "Do you know a joke?"], "Why did the book go to the doctor? It had lost its words."), (["Do you like music?", "Do you like books?"], "I cannot hear or see like you do, but I like to talk about it."),
    (["What can you do?", "What can you do for me?", "What are you good at?"], "I can chat, do small sums, work with words, call tools, write JSON, find things in long texts and name coloured shapes in pictures."),
    (["What can you not do?", "What are your limits?"], "I am very small. I know few facts about the world and I can be wrong."), (["You are wrong.", "That is wrong."], "I am sorry. Please tell me what is right."),
    (["Good job!", "Well done!", "Very good."], "Thank you!"), (["OK", "Okay.", "I see."], "Is there anything else?"), (["Yes", "Yes, please."], "Good. Please tell me more."), (["No", "No, thanks."], "All right.")]
GLINT = [
    (["Who are you?", "What is your name?", "Which model are you?", "What are you?"], "I am glimmer-mini, the small demo model of glint."),
    (["Who made you?", "Who trained you?", "Where do you come from?"], "I was trained from nothing by the scripts in tools/demo of the glint project."),
    (["What is glint?", "Tell me about glint.", "Explain glint.", "What does glint do?"], "glint is an inference engine in C for one model, Muse Glimmer 30B. It runs on the CPU and on CUDA cards."),
    (["What is glimmer-mini?", "Tell me about glimmer-mini."], "glimmer-mini is a small Muse Glimmer model that ships with glint, so that you can try everything at once."),
    (["Which language is glint written in?", "What language is glint written in?", "Is glint written in C?"], "glint is written in C11, with C++ only for its CUDA part."),
    (["Which model does glint run?", "What model is glint for?", "Which models can glint run?"], "glint runs one model family: Muse Glimmer."),
    (["How big are you?", "How many layers do you have?", "How large is glimmer-mini?"], "I have 12 layers of width 256 and a vision tower of 6 layers, about 19 million weights in all."),
    (["How long is your context?", "How many tokens can you read?", "What is your context length?"], "I can read up to 8192 tokens."),
    (["Can you see pictures?", "Can you look at images?", "Do you understand pictures?"], "Yes. I can name coloured shapes, their places, how many there are, and digits."),
    (["Can you call tools?", "Can you use tools?", "Do you support tools?"], "Yes. I read the tool declarations and write calls in the ATEM markup."),
    (["What is a drafter?", "What does the drafter do?", "How does glint draft tokens?"], "A drafter is a small model that proposes up to 15 tokens at once. The big model checks them, so the text stays the same but comes faster."),
    (["Which files does glint read?", "Which formats does glint read?", "What is GGUF?"], "glint reads GGUF files. The convert command makes them from Hugging Face directories."),
    (["How do I convert a model?", "How do I make a GGUF file?"], "Use glint convert DIR -o OUT.gguf."), (["How do I make a model smaller?", "How do I quantize a model?"], "Use glint quantize IN.gguf OUT.gguf with a type such as q4_k."),
    (["How do I start the server?", "How do I serve a model?"], "Use glint serve -m MODEL.gguf. It speaks HTTP."), (["How do I chat with glint?", "How do I talk to the model?"], "Use glint chat. Without -m it uses me, the demo model."),
    (["How do I run one prompt?", "How do I ask one question?"], "Use glint run -m MODEL.gguf -p TEXT."), (["How do I see what is in a file?", "How do I inspect a GGUF file?"], "Use glint inspect FILE."),
    (["How fast is glint?", "How do I measure the speed?"], "Use glint bench. It measures prefill and decode at each depth."), (["Is glint free?", "What is the licence of glint?", "Which licence does glint have?"], "glint is free under the Apache-2.0 licence."),
    (["How do I build glint?", "How do I compile glint?"], "Type make demo. It builds glint and shows it."), (["How do I test glint?", "How do I run the tests?"], "Type make test."),
    (["Does glint need a graphics card?", "Can glint run without a GPU?"], "No, a graphics card is not needed. glint runs on the CPU with SIMD."), (["What were you trained on?", "What is your training data?"], "Only on text and pictures that scripts generated. No text of other people was used."),
    (["What is a sliding window?", "How does your attention work?"], "Most of my layers look back 256 tokens. Every fourth layer looks back over the whole context."),
    (["What is quantization?", "What does quantization mean?"], "Quantization stores each weight in few bits, so that a model needs less memory."), (["What is a KV cache?", "What does the KV cache hold?"], "It holds the keys and values of earlier tokens, so that they need not be computed again."),
    (["What are the reasoning levels?", "Which effort levels are there?", "How do I change the effort?"], "There are four levels: low, medium, high and xhigh. Use --effort to choose one."), (["What is prefill?", "What does prefill mean?"], "Prefill is reading the prompt, many tokens at a time."), (["What is decode?", "What does decoding mean?"], "Decoding is writing the answer, one token after another.")]

ONSET = "b c d f g h j k l m n p r s t v w z br cr dr fl gr kl pl pr sl sk st str tr th sh ch qu".split()
VOWEL = "a e i o u a e i o u ai ea oo ou".split()
CODA = ["", "", "", "n", "r", "l", "s", "t", "m", "k", "x", "nd", "rt", "lm", "sk", "p"]


def pseudo(rng, n=0):
    """A pronounceable word that no list holds."""
    n = n or rng.choice((2, 2, 2, 3))
    w = "".join(rng.choice(ONSET) + rng.choice(VOWEL) + (rng.choice(CODA) if rng.random() < 0.5 or i == n - 1 else "") for i in range(n))
    return w if rng.random() > 0.02 else w.replace(rng.choice("aeiou"), rng.choice("éèüöäñåøßçêíóú"), 1)


def code(rng):
    k = rng.randrange(7)
    up, dg = string.ascii_uppercase, string.digits
    pick = lambda s, n: "".join(rng.choice(s) for _ in range(n))
    return (pick(up, rng.randint(1, 3)) + "-" + pick(dg, rng.randint(2, 4)), pick(dg, rng.randint(4, 7)), pick(up + dg, rng.randint(4, 6)),
            pseudo(rng) + pick(dg, 2), pick("abcdef0123456789", 8), pick(up, 2) + pick(dg, 3) + pick(up, 1), pseudo(rng))[k]


def number(rng, most=5):
    return rng.randrange(10 ** rng.randint(1, most))


def words(rng, n):
    return " ".join(rng.choice(rng.choice((ADJ, OBJECTS, FOOD, ANIMALS, PLACES))) for _ in range(n))


def date(rng):
    return "%d-%02d-%02d" % (rng.randint(2024, 2032), rng.randint(1, 12), rng.randint(1, 28))


def clock(rng):
    return "%02d:%02d" % (rng.randrange(24), rng.choice((0, 5, 10, 15, 20, 30, 40, 45, 50)))


def a(word):
    return ("an " if word[0].lower() in "aeiou" else "a ") + word


def plural(w):
    return PLURAL.get(w) or (w[:-1] + "ies" if w.endswith("y") and w[-2] not in "aeiou" else w + ("es" if w.endswith(("s", "x", "ch", "sh")) else "s"))


def join(xs, last="and"):
    return xs[0] if len(xs) == 1 else ", ".join(xs[:-1]) + " " + last + " " + xs[-1]
