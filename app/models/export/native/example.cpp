// Asks the model for the answers to the recorded samples and compares them with those that were wanted.
//
//   example [FOLDER]     FOLDER holds model.onnx and samples/; default: the working directory
//
// It ends with 0 if all outputs match, 1 if one does not, 2 if something cannot be read or run. A game does the same:
// one environment and one session for its whole life, one Run for all agents that wait. What a state comes back as
// (`next_state…`) is fed in as `state…` at the next tick; a game begins with zeros.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "onnxruntime_c_api.h"

namespace {

const OrtApi* api = nullptr;

void check(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string message = api->GetErrorMessage(status);
  api->ReleaseStatus(status);
  throw std::runtime_error(message);
}

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

size_t size_of(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8: return 1;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16: return 2;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32: return 4;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64: return 8;
    default: throw std::runtime_error("an element type that this example does not know: " + std::to_string(type));
  }
}

template <typename T>
double at(const char* data, size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

double number(ONNXTensorElementDataType type, const char* data, size_t index) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT: return at<float>(data, index);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE: return at<double>(data, index);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64: return static_cast<double>(at<int64_t>(data, index));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32: return at<int32_t>(data, index);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16: return at<int16_t>(data, index);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16: return at<uint16_t>(data, index);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8: return at<int8_t>(data, index);
    default: return at<uint8_t>(data, index);
  }
}

// Name, element type and sizes of an input or output; the first size, -1, is the batch.
struct Port {
  std::string name;
  ONNXTensorElementDataType type;
  std::vector<int64_t> sizes;

  size_t row_bytes() const {
    size_t bytes = size_of(type);
    for (size_t axis = 1; axis < sizes.size(); ++axis) bytes *= static_cast<size_t>(sizes[axis]);
    return bytes;
  }
};

class Model {
 public:
  explicit Model(const std::string& path) {
    check(api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "sparring", &environment_));
    OrtSessionOptions* options = nullptr;
    check(api->CreateSessionOptions(&options));
    check(api->SetIntraOpNumThreads(options, 1));  // A small network is slower on several threads.
    const std::vector<char> model = read_file(path);
    check(api->CreateSessionFromArray(environment_, model.data(), model.size(), options, &session_));
    api->ReleaseSessionOptions(options);
    check(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory_));
    size_t count = 0;
    check(api->SessionGetInputCount(session_, &count));
    for (size_t i = 0; i < count; ++i) inputs.push_back(port(i, true));
    check(api->SessionGetOutputCount(session_, &count));
    for (size_t i = 0; i < count; ++i) outputs.push_back(port(i, false));
  }

  ~Model() {
    api->ReleaseMemoryInfo(memory_);
    api->ReleaseSession(session_);
    api->ReleaseEnv(environment_);
  }

  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Returns the bytes of each output for `rows` rows of each input.
  std::vector<std::vector<char>> run(std::vector<std::vector<char>>& given, size_t rows) {
    std::vector<OrtValue*> values, answers(outputs.size(), nullptr);
    std::vector<const char*> input_names, output_names;
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::vector<int64_t> sizes = inputs[i].sizes;
      sizes[0] = static_cast<int64_t>(rows);
      OrtValue* value = nullptr;
      check(api->CreateTensorWithDataAsOrtValue(memory_, given[i].data(), rows * inputs[i].row_bytes(), sizes.data(),
                                                sizes.size(), inputs[i].type, &value));
      values.push_back(value);
      input_names.push_back(inputs[i].name.c_str());
    }
    for (const Port& output : outputs) output_names.push_back(output.name.c_str());
    check(api->Run(session_, nullptr, input_names.data(), values.data(), values.size(), output_names.data(),
                   output_names.size(), answers.data()));
    std::vector<std::vector<char>> found;
    for (size_t i = 0; i < outputs.size(); ++i) {
      void* data = nullptr;
      check(api->GetTensorMutableData(answers[i], &data));
      const char* bytes = static_cast<const char*>(data);
      found.emplace_back(bytes, bytes + elements(answers[i]) * size_of(outputs[i].type));
    }
    for (OrtValue* value : values) api->ReleaseValue(value);
    for (OrtValue* value : answers) api->ReleaseValue(value);
    return found;
  }

  std::vector<Port> inputs, outputs;

 private:
  Port port(size_t index, bool is_input) {
    OrtAllocator* allocator = nullptr;
    check(api->GetAllocatorWithDefaultOptions(&allocator));
    char* name = nullptr;
    OrtTypeInfo* info = nullptr;
    check(is_input ? api->SessionGetInputName(session_, index, allocator, &name)
                   : api->SessionGetOutputName(session_, index, allocator, &name));
    check(is_input ? api->SessionGetInputTypeInfo(session_, index, &info)
                   : api->SessionGetOutputTypeInfo(session_, index, &info));
    const OrtTensorTypeAndShapeInfo* shape = nullptr;
    check(api->CastTypeInfoToTensorInfo(info, &shape));
    Port found{name, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, {}};
    size_t axes = 0;
    check(api->GetTensorElementType(shape, &found.type));
    check(api->GetDimensionsCount(shape, &axes));
    found.sizes.resize(axes);
    check(api->GetDimensions(shape, found.sizes.data(), axes));
    api->ReleaseTypeInfo(info);
    check(api->AllocatorFree(allocator, name));
    return found;
  }

  static size_t elements(const OrtValue* value) {
    OrtTensorTypeAndShapeInfo* shape = nullptr;
    size_t count = 0;
    check(api->GetTensorTypeAndShape(value, &shape));
    check(api->GetTensorShapeElementCount(shape, &count));
    api->ReleaseTensorTypeAndShapeInfo(shape);
    return count;
  }

  OrtEnv* environment_ = nullptr;
  OrtSession* session_ = nullptr;
  OrtMemoryInfo* memory_ = nullptr;
};

// Returns the largest error of an output, beside numbers of size 1; infinity where it has another size or is no number.
double largest_error(const Port& port, const std::vector<char>& wanted, const std::vector<char>& got) {
  if (wanted.size() != got.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < wanted.size() / size_of(port.type); ++i) {
    const double x = number(port.type, wanted.data(), i), y = number(port.type, got.data(), i);
    const double error = std::fabs(x - y) / std::fmax(1.0, std::fabs(x));
    if (!(error <= largest)) largest = std::isnan(error) ? INFINITY : error;
  }
  return largest;
}

bool samples_match(const std::string& folder) {
  Model model(folder + "/model.onnx");
  const std::string samples = folder + "/samples/";
  std::vector<std::vector<char>> given;
  for (size_t i = 0; i < model.inputs.size(); ++i)
    given.push_back(read_file(samples + "input_" + std::to_string(i) + ".bin"));
  const std::vector<char> allowed = read_file(samples + "tolerance.bin");
  if (given.empty() || allowed.size() != sizeof(float)) throw std::runtime_error("the samples are damaged");
  const size_t rows = given[0].size() / model.inputs[0].row_bytes();
  for (size_t i = 0; i < given.size(); ++i)
    if (rows == 0 || given[i].size() != rows * model.inputs[i].row_bytes())
      throw std::runtime_error("the samples of " + model.inputs[i].name + " have another size than the model takes");
  const double tolerance = at<float>(allowed.data(), 0);
  const std::vector<std::vector<char>> found = model.run(given, rows);
  bool all = true;
  for (size_t i = 0; i < found.size(); ++i) {
    const double error = largest_error(model.outputs[i], read_file(samples + "output_" + std::to_string(i) + ".bin"), found[i]);
    const bool good = error <= tolerance;
    std::printf("%s %s: %zu rows, largest error %.3g, allowed %.3g\n", good ? "ok  " : "FAIL",
                model.outputs[i].name.c_str(), rows, error, tolerance);
    all = all && good;
  }
  return all;
}

}  // namespace

int main(int count, char** words) {
  try {
    api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
    if (api == nullptr) throw std::runtime_error("this ONNX Runtime is older than the header; use one of 1.29 or later");
    return samples_match(count > 1 ? words[1] : ".") ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
